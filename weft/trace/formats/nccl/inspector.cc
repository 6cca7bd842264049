// SPDX-License-Identifier: Apache-2.0
// NCCL Inspector (a plug-in that comes with NCCL), formats v4.0 to v4.3: one JSON line for each
// finished collective ("coll_perf") or message ("p2p_perf"). "header" says which communicator,
// "metadata" which process; since v4.3 both stand only in the line with "dump_stats" that begins a
// batch. Times come with NCCL_INSPECTOR_DUMP_VERBOSE=1 only, in microseconds of Unix time.
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
    "NCCL Inspector itself lost records because its ring was full",
    "NCCL_INSPECTOR_DUMP_COLL_RING_SIZE and _P2P_RING_SIZE, or a shorter dump interval"};
constexpr DiagnosticKind kUntimed{"inspector-without-times", Severity::kDataLoss,
                                  "records without times were left out",
                                  "record with NCCL_INSPECTOR_DUMP_VERBOSE=1"};
constexpr DiagnosticKind kUnplaced{
    "inspector-unplaced", Severity::kDataLoss,
    "records of a communicator whose members cannot be told apart were left out",
    "run one process for each GPU, or leave communicators of other sizes out"};

/// What the header and the metadata say, kept for the lines that lack them.
struct Origin {
  std::string host, communicator;
  std::int64_t process = -1, rank = -1, ranks = -1;
};

/// One operation of a line.
struct Performance {
  std::string function;
  std::int64_t sequence = -1, bytes = -1, peer = -1;
  Nanos length = -1;  ///< as measured
  bool by_gpu = false;
  Nanos queued = -1, left_queue = -1;
  Span kernel;
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
    // A channel that was not seen to start has 0.
    if (channel.start > 0) perf.kernel.cover(channel);
  }
}

void read_performance(JsonScanner& json, Performance& perf) {
  nccl::read_members(json, [&](std::string_view key) {
    // "coll_sn" and "p2p_sn" mean the same.
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

// The GPU's own measure of the length is better than the times at which the host looked.
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
  /// The operations that one member of a communicator reported.
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
    // 0 and -1 both mean that it was not seen.
    if (perf.queued > 0) operation.on_host = {perf.queued, perf.left_queue};
    operation.on_device = span;
    const std::pair process(origin_.host, origin_.process);
    Member& member = processes_[process][{origin_.communicator, origin_.rank}];
    member.origin = origin_;
    member.operations.push_back(std::move(operation));
  }

  // A process with one GPU is one member of each of its communicators. One with several is several
  // members of some: those of the largest communicator are its workers, and other communicators
  // that all of them are in list them in the same order.
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
          // Streams are not told. Work of a communicator is done in order, but messages there and
          // back run beside each other.
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
                  "this log of NCCL Inspector tells how long collectives took but not when; record "
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
