// SPDX-License-Identifier: Apache-2.0
// Reader of NCCL Inspector logs, formats v4.0 to v4.3. NCCL Inspector is a plug-in that comes with
// NCCL. It writes one JSON line per finished collective ("coll_perf") or message ("p2p_perf").
// "header" names the communicator and "metadata" names the process. Since v4.3, these two keys are
// only in the line with "dump_stats" that begins a batch of lines; they apply to the whole batch.
// The log has times only if NCCL_INSPECTOR_DUMP_VERBOSE=1 was set. The times are microseconds of
// Unix time.
//
// The reader first sorts operations by process and by member of a communicator. place() then
// decides which members are the same GPU.
#include <algorithm>
#include <map>
#include <string>

#include "weft/trace/formats/nccl/assemble.h"
#include "weft/trace/formats/nccl/lines.h"
#include "weft/trace/formats/nccl/nccl.h"

namespace weft::trace {
namespace {

using nccl::Operation;
using nccl::Span;
using nccl::Worker;

constexpr DiagnosticKind kDropped{
    "inspector-dropped", Severity::kDataLoss,
    "NCCL Inspector itself lost records because its ring buffer was full",
    "raise NCCL_INSPECTOR_DUMP_COLL_RING_SIZE and NCCL_INSPECTOR_DUMP_P2P_RING_SIZE, or shorten "
    "the dump interval"};
constexpr DiagnosticKind kUntimed{"inspector-without-times", Severity::kDataLoss,
                                  "records without times were left out",
                                  "record with NCCL_INSPECTOR_DUMP_VERBOSE=1"};
constexpr DiagnosticKind kUnplaced{
    "inspector-unplaced", Severity::kDataLoss,
    "records of communicators whose members cannot be assigned to GPUs were left out",
    "run one process per GPU, or use only communicators that contain all GPUs of a process"};

/// The contents of "header" and "metadata". They are kept, because the following lines may lack
/// these keys.
struct Origin {
  std::string host, communicator;
  std::int64_t process = -1, rank = -1, ranks = -1;
};

/// The operation of one line.
struct Performance {
  std::string function;
  std::int64_t sequence = -1, bytes = -1, peer = -1;
  Nanos length = -1;                   ///< duration that NCCL Inspector measured
  bool by_gpu = false;                 ///< `length` was measured with the GPU's clock
  Nanos queued = -1, left_queue = -1;  ///< start and end of enqueueing the call
  Span kernel;                         ///< from the first to the last channel, on the host's clock
};

void read_kernels(JsonScanner& json, Performance& perf) {
  if (json.peek() != JsonKind::kArray) return json.skip();
  json.enter();
  while (json.next_item()) {
    Span channel;
    nccl::read_members(json, [&](std::string_view key) {
      if (key == "kernel_start_ts") {
        channel.start = nccl::read_micros(json);
      } else if (key == "kernel_stop_ts") {
        channel.end = nccl::read_micros(json);
      } else {
        json.skip();
      }
    });
    // 0 means that the plug-in did not see the channel start.
    if (channel.start > 0) perf.kernel.cover(channel);
  }
}

void read_performance(JsonScanner& json, Performance& perf) {
  nccl::read_members(json, [&](std::string_view key) {
    // Keys of collectives and messages differ only in their prefix: "coll_sn" and "p2p_sn".
    const std::size_t line = key.find('_');
    const std::string_view what = line == key.npos ? key : key.substr(line + 1);
    if (key == "coll" || key == "p2p") {
      perf.function = json.string();
    } else if (what == "sn") {
      perf.sequence = nccl::read_count(json);
    } else if (what == "peer") {
      perf.peer = nccl::read_count(json);
    } else if (what == "msg_size_bytes") {
      perf.bytes = nccl::read_count(json);
    } else if (what == "exec_time_us") {
      perf.length = nccl::read_micros(json);
    } else if (what == "timing_source") {
      perf.by_gpu = json.string() == "kernel_gpu";
    } else if (key == "event_trace_ts") {
      nccl::read_members(json, [&](std::string_view event) {
        if (event.ends_with("_start_ts")) {
          perf.queued = nccl::read_micros(json);
        } else if (event.ends_with("_stop_ts")) {
          perf.left_queue = nccl::read_micros(json);
        } else if (event == "kernel_events") {
          read_kernels(json, perf);
        } else {
          json.skip();
        }
      });
    } else {
      json.skip();
    }
  });
}

// Returns the time of an operation on the device. The host polls the channels, so it sees their
// start late. A length that the GPU measured is more precise. The end is taken from the host.
// Without channel times the operation starts when it was enqueued.
Span time_of(const Performance& perf) {
  Span span = perf.kernel;
  if (span.known() && perf.by_gpu && perf.length > 0) {
    span.start = std::max<Nanos>(0, span.end - perf.length);
  }
  if (!span.known() && perf.queued > 0 && perf.length >= 0) {
    span = {perf.queued, perf.queued + perf.length};
  }
  return span;
}

class InspectorFile {
 public:
  void read_line(JsonScanner& json) {
    Performance perf;
    bool complete = false;
    std::int64_t dropped = 0;
    Origin origin = origin_;
    std::string_view key;
    while (json.next_key(key)) {
      if (key == "header") {
        read_header(json, origin);
      } else if (key == "metadata") {
        read_metadata(json, origin);
      } else if (key == "coll_perf" || key == "p2p_perf") {
        read_performance(json, perf);
        complete = true;
      } else if (key == "dump_stats") {
        nccl::read_members(json, [&](std::string_view what) {
          if (what == "coll_dropped_since_last_dump" || what == "p2p_dropped_since_last_dump") {
            dropped += std::min<std::int64_t>(nccl::read_count(json), INT32_MAX);
          } else {
            json.skip();
          }
        });
      } else {
        json.skip();
      }
    }
    // Use nothing of a damaged line, not even its header.
    if (!json.ok()) return;
    origin_ = origin;
    dropped_ += std::max<std::int64_t>(dropped, 0);
    if (complete) add(perf);
  }

  std::int64_t operations() const { return operations_; }
  std::int64_t untimed() const { return untimed_; }

  std::vector<Worker> finish(const std::string& file, Diagnostics& diagnostics) {
    diagnostics.add(kDropped, file, dropped_);
    diagnostics.add(kUntimed, file, untimed_);
    std::vector<Worker> workers;
    for (auto& [key, members] : processes_) place(members, workers);
    diagnostics.add(kUnplaced, file, unplaced_);
    return workers;
  }

 private:
  /// The operations that one process reported for one of its members of a communicator.
  struct Member {
    Origin origin;
    std::vector<Operation> operations;
  };
  using Members = std::map<std::pair<std::string, std::int64_t>, Member>;  // communicator, rank

  static void read_header(JsonScanner& json, Origin& origin) {
    nccl::read_members(json, [&](std::string_view key) {
      if (key == "id") {
        origin.communicator = json.number_or_string();
      } else if (key == "rank") {
        origin.rank = nccl::read_count(json);
      } else if (key == "n_ranks") {
        origin.ranks = nccl::read_count(json);
      } else {
        json.skip();
      }
    });
  }

  static void read_metadata(JsonScanner& json, Origin& origin) {
    nccl::read_members(json, [&](std::string_view key) {
      if (key == "hostname") {
        origin.host = json.string();
      } else if (key == "pid") {
        origin.process = nccl::read_count(json);
      } else {
        json.skip();
      }
    });
  }

  void add(const Performance& perf) {
    ++operations_;
    const Span span = time_of(perf);
    if (!span.known()) {
      ++untimed_;
      return;
    }
    Operation operation;
    operation.function = perf.function;
    operation.communicator = origin_.communicator;
    operation.count = perf.bytes;
    operation.sequence = perf.sequence;
    operation.peer = perf.peer;
    // 0 and -1 both mean that the plug-in did not record the time.
    if (perf.queued > 0) operation.on_host = {perf.queued, perf.left_queue};
    operation.on_device = span;
    const std::pair process(origin_.host, origin_.process);
    Member& member = processes_[process][{origin_.communicator, origin_.rank}];
    member.origin = origin_;
    member.operations.push_back(std::move(operation));
  }

  // Decides which members belong to the same GPU of a process. If the process has one GPU, it is
  // one member of each of its communicators. If it has several GPUs, it is several members of at
  // least one communicator. Take the communicator with the most members of this process: each of
  // these members is taken as one GPU. If another communicator has as many members of this process,
  // they are assumed to be the same GPUs in the same order. The members of all other communicators
  // cannot be assigned to GPUs.
  void place(Members& members, std::vector<Worker>& workers) {
    std::map<std::string, std::vector<Member*>> groups;
    for (auto& [key, member] : members) groups[key.first].push_back(&member);
    const std::vector<Member*>* largest = nullptr;
    for (const auto& [communicator, group] : groups) {
      const auto size = [](const std::vector<Member*>& g) {
        return std::pair(g.size(), g.front()->origin.ranks);
      };
      if (largest == nullptr || size(group) > size(*largest)) largest = &group;
    }
    const std::size_t first = workers.size();
    workers.resize(first + largest->size());
    std::int64_t stream = 0;
    for (const auto& [communicator, group] : groups) {
      const std::int64_t base = stream;
      stream += 3;
      for (std::size_t i = 0; i < group.size(); ++i) {
        Member& member = *group[i];
        if (group.size() != largest->size()) {
          unplaced_ += static_cast<std::int64_t>(member.operations.size());
          continue;
        }
        Worker& worker = workers[first + i];
        worker.host = member.origin.host;
        worker.process = member.origin.process;
        worker.memberships.push_back({communicator, member.origin.ranks, member.origin.rank});
        worker.records += static_cast<std::int64_t>(member.operations.size());
        for (Operation& operation : member.operations) {
          // The log does not name streams. Operations of a communicator run in order, except that
          // sends and receives run at the same time. So each communicator gets three streams: for
          // collectives, sends and receives.
          operation.stream = base + (operation.function == "Send"   ? 1
                                     : operation.function == "Recv" ? 2
                                                                    : 0);
          worker.operations.push_back(std::move(operation));
        }
      }
    }
  }

  Origin origin_;
  std::map<std::pair<std::string, std::int64_t>, Members> processes_;  // host, process
  std::int64_t operations_ = 0, untimed_ = 0, dropped_ = 0, unplaced_ = 0;
};

class NcclInspectorReader final : public Reader {
 public:
  const char* name() const override { return "nccl-inspector"; }
  const char* description() const override {
    return "logs of NCCL Inspector with times (NCCL_INSPECTOR_DUMP_VERBOSE=1), JSON lines";
  }

  int recognise(std::string_view head) const override {
    const auto has = [&](std::string_view word) { return head.find(word) != head.npos; };
    const std::size_t start = head.find_first_not_of(" \n\r\t");
    if (start == head.npos || head[start] != '{') return 0;
    return has("\"inspector_output_format_version\"") ||
                   (has("\"coll_perf\"") && has("\"coll_sn\""))
               ? 97
               : 0;
  }

  Result<std::vector<RankTrace>> read(ByteSource& source, const ReadOptions& options,
                                      Diagnostics& diagnostics) const override {
    JsonScanner json(source);
    InspectorFile file;
    WEFT_TRY(nccl::read_lines(json, source, options, diagnostics, [&] { file.read_line(json); }));
    if (file.untimed() > 0 && file.untimed() == file.operations()) {
      return fail(ErrorCode::kBadInput,
                  "this NCCL Inspector log has durations of collectives but no start times; record "
                  "with NCCL_INSPECTOR_DUMP_VERBOSE=1",
                  source.name());
    }
    return nccl::assemble(file.finish(source.name(), diagnostics), source.name(), name(),
                          diagnostics);
  }
};

}  // namespace

std::unique_ptr<Reader> make_nccl_inspector_reader() {
  return std::make_unique<NcclInspectorReader>();
}

}  // namespace weft::trace
