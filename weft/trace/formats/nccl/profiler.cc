// SPDX-License-Identifier: Apache-2.0
// Connects the lines of a profiler plug-in, and so finds out what each GPU did. A plug-in writes an
// event when the event ends, so children may come before their parents. Events are identified by
// their address in the process, and NCCL reuses addresses. So add() only collects, and finish()
// connects the events:
//   1. sort_launches(): give each operation its launch, and each launch its CUPTI kernel.
//   2. time_operations(): give each operation the times of its channels. A channel names the
//      address of its parent operation. If several operations had this address, the parent is the
//      last one that started before the channel.
#include <algorithm>
#include <charconv>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>

#include "weft/trace/formats/nccl/assemble.h"
#include "weft/trace/formats/nccl/lines.h"
#include "weft/trace/formats/nccl/nccl.h"
#include "weft/trace/formats/nccl/profiler_record.h"

namespace weft::trace {
namespace {

using nccl::Launch;
using nccl::Operation;
using nccl::ProfilerRecord;
using nccl::Span;
using nccl::Worker;

constexpr DiagnosticKind kNoTime{
    "event-without-time", Severity::kDataLoss, "events without a usable start or end were left out",
    "the plug-in was stopped while it wrote; let the job end by itself"};

/// Takes the function name out of a mangled C++ name:
/// "_Z22ncclDevKernel_SendRecv24ncclDev..." becomes "ncclDevKernel_SendRecv".
std::string_view plain_name(std::string_view name) {
  if (!name.starts_with("_Z")) return name;
  std::size_t length = 0;
  const std::string_view rest = name.substr(2);
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), length);
  const auto digits = static_cast<std::size_t>(end - rest.data());
  if (error != std::errc() || length == 0 || length > rest.size() - digits) return name;
  return rest.substr(digits, length);
}

/// Process id and address of an event: addresses are unique within a process only.
using Address = std::pair<std::int64_t, std::uint64_t>;

/// What one channel did for one operation.
struct Channel {
  Address parent;  ///< the operation
  Span seen;       ///< when the proxy thread noticed the start and the end, on the host's clock
  std::int64_t gpu_start = -1, gpu_stop = -1;  ///< on the GPU's clock, in nanoseconds
};

/// A kernel that CUPTI recorded.
struct Kernel {
  Span span;
  std::string name;
};

class ProfilerFile {
 public:
  void add(const ProfilerRecord& record) {
    if (record.kind == "state") return add_state(record);
    if (record.kind == "cuptiActivity") return add_kernel(record);
    Worker& worker = worker_of(record);
    ++worker.records;
    note_membership(worker, record);
    if (record.kind != "event") return;
    const auto usable = record.span.known();
    if (record.type == "ncclProfileCollApi" || record.type == "ncclProfileP2pApi") {
      if (!usable) return lose();
      worker.calls.push_back({"nccl" + std::string(record.function), record.span, record.thread});
    } else if (record.type == "ncclProfileKernelLaunch") {
      if (!usable) return lose();
      links_[index_.at(key_of(record))].push_back(record.link);
      worker.launches.push_back({record.span, {}, {}, record.thread, stream_of(record)});
    } else if (record.type == "ncclProfileColl" || record.type == "ncclProfileP2p") {
      if (!usable) return lose();
      add_operation(worker, record);
    } else if (record.type == "ncclProfileKernelCh") {
      if (!usable) return lose();
      add_channel(record);
    }
  }

  std::vector<Worker> finish(const std::string& file, Diagnostics& diagnostics) {
    diagnostics.add(kNoTime, file, lost_);
    std::map<Address, std::vector<Operation*>> at_address;
    for (std::size_t w = 0; w < workers_.size(); ++w) {
      sort_launches(w);
      for (std::size_t i = 0; i < workers_[w].operations.size(); ++i) {
        at_address[addresses_[w][i]].push_back(&workers_[w].operations[i]);
      }
    }
    for (auto& [address, list] : at_address) {
      std::stable_sort(list.begin(), list.end(), [](const Operation* a, const Operation* b) {
        return a->on_host.start < b->on_host.start;
      });
    }
    time_operations(at_address);
    return std::move(workers_);
  }

 private:
  using WorkerKey = std::tuple<std::int64_t, std::string, std::int64_t>;

  void lose() { ++lost_; }

  // Identifies a GPU of a process. If the plug-in does not name the GPU, the rank in the
  // communicator identifies it.
  static WorkerKey key_of(const ProfilerRecord& record) {
    return {record.process, std::string(record.gpu), record.gpu.empty() ? record.rank : 0};
  }

  static std::int64_t stream_of(const ProfilerRecord& record) {
    return static_cast<std::int64_t>(record.stream & 0x7fffffffffffffff);
  }

  Worker& worker_of(const ProfilerRecord& record) {
    const auto [found, fresh] = index_.try_emplace(key_of(record), workers_.size());
    if (fresh) {
      workers_.emplace_back();
      workers_.back().process = record.process;
      addresses_.emplace_back();
      links_.emplace_back();
    }
    Worker& worker = workers_[found->second];
    if (!record.host.empty()) worker.host = record.host;
    return worker;
  }

  static void note_membership(Worker& worker, const ProfilerRecord& record) {
    if (record.communicator.empty()) return;
    auto& list = worker.memberships;
    auto known = std::find_if(list.begin(), list.end(), [&](const nccl::Membership& m) {
      return m.communicator == record.communicator;
    });
    if (known == list.end()) {
      list.push_back({std::string(record.communicator), -1, -1});
      known = std::prev(list.end());
    }
    known->ranks = std::max(known->ranks, record.ranks);
    known->rank = std::max(known->rank, record.rank);
  }

  void add_operation(Worker& worker, const ProfilerRecord& record) {
    Operation operation;
    operation.function = record.function;
    operation.dtype = record.dtype;
    operation.communicator = record.communicator;
    operation.count = record.count;
    operation.sequence = record.sequence;
    operation.peer = record.peer;
    operation.thread = record.thread;
    operation.on_host = record.span;
    worker.operations.push_back(std::move(operation));
    addresses_[index_.at(key_of(record))].push_back({record.process, record.address});
  }

  // The plug-in writes the GPU's time at the end of a channel as a "state" line, before the line of
  // the channel itself.
  void add_state(const ProfilerRecord& record) {
    if (record.name == "KernelChStop") {
      gpu_stops_[{record.process, record.address}] = record.gpu_clock;
    }
  }

  void add_channel(const ProfilerRecord& record) {
    Channel channel;
    channel.parent = {record.process, record.parent};
    channel.seen = record.span;
    channel.gpu_start = record.gpu_clock;
    const auto stop = gpu_stops_.find({record.process, record.address});
    if (stop != gpu_stops_.end()) {
      channel.gpu_stop = stop->second;
      gpu_stops_.erase(stop);
    }
    channels_.push_back(channel);
  }

  // CUPTI kernels are connected to launches by the link (external correlation id). The line of a
  // kernel also names a GPU, but this GPU is ignored, because in some versions it is not the GPU of
  // the launch.
  void add_kernel(const ProfilerRecord& record) {
    if (record.type != "KERNEL" && record.type != "CONCURRENT_KERNEL") return;
    if (!record.span.known()) return lose();
    kernels_[{record.process, record.link}] = {record.span, std::string(plain_name(record.name))};
  }

  // NCCL starts the operations of a launch after the launch has started. So an operation belongs to
  // the last launch that started before it.
  void sort_launches(std::size_t w) {
    Worker& worker = workers_[w];
    for (std::size_t i = 0; i < worker.launches.size(); ++i) {
      const auto kernel = kernels_.find({worker.process, links_[w][i]});
      if (kernel == kernels_.end()) continue;
      worker.launches[i].on_device = kernel->second.span;
      worker.launches[i].kernel = kernel->second.name;
    }
    std::stable_sort(
        worker.launches.begin(), worker.launches.end(),
        [](const Launch& a, const Launch& b) { return a.on_host.start < b.on_host.start; });
    for (Operation& operation : worker.operations) {
      const auto after = std::upper_bound(
          worker.launches.begin(), worker.launches.end(), operation.on_host.start,
          [](Nanos time, const Launch& launch) { return time < launch.on_host.start; });
      if (after == worker.launches.begin()) continue;
      operation.launch = static_cast<std::uint32_t>(after - worker.launches.begin() - 1);
    }
  }

  // The proxy thread notices the end of a channel at once, but notices its start late. The GPU's
  // clock gives the right length, but its offset from the host's clock is unknown. So take the end
  // from the host's clock and the length from the GPU's clock. An operation spans all of its
  // channels.
  void time_operations(const std::map<Address, std::vector<Operation*>>& at_address) {
    struct Times {
      Span seen;
      std::int64_t gpu_start = INT64_MAX, gpu_stop = -1;
    };
    std::unordered_map<Operation*, Times> times;
    std::vector<Operation*> order;
    for (const Channel& channel : channels_) {
      const auto found = at_address.find(channel.parent);
      if (found == at_address.end()) continue;
      const auto& list = found->second;
      const auto after =
          std::upper_bound(list.begin(), list.end(), channel.seen.start,
                           [](Nanos time, const Operation* o) { return time < o->on_host.start; });
      if (after == list.begin()) continue;
      const auto [entry, fresh] = times.try_emplace(*std::prev(after));
      if (fresh) order.push_back(entry->first);
      entry->second.seen.cover(channel.seen);
      if (channel.gpu_start >= 0 && channel.gpu_stop >= channel.gpu_start) {
        entry->second.gpu_start = std::min(entry->second.gpu_start, channel.gpu_start);
        entry->second.gpu_stop = std::max(entry->second.gpu_stop, channel.gpu_stop);
      }
    }
    for (Operation* operation : order) {
      const Times& found = times.at(operation);
      operation->on_device = found.seen;
      if (found.gpu_stop >= found.gpu_start) {
        const Nanos length = found.gpu_stop - found.gpu_start;
        operation->on_device.start = std::max<Nanos>(0, found.seen.end - length);
      }
    }
  }

  std::map<WorkerKey, std::size_t> index_;
  std::vector<Worker> workers_;
  std::vector<std::vector<Address>> addresses_;   ///< address of each worker's operations
  std::vector<std::vector<std::int64_t>> links_;  ///< link of each worker's launches
  std::map<Address, std::int64_t> gpu_stops_;     ///< GPU time at the end of a channel
  std::vector<Channel> channels_;
  std::map<std::pair<std::int64_t, std::int64_t>, Kernel> kernels_;  ///< (process, link) -> kernel
  std::int64_t lost_ = 0;
};

class NcclProfilerReader final : public Reader {
 public:
  const char* name() const override { return "nccl-profiler"; }
  const char* description() const override {
    return "events of an NCCL profiler plug-in, JSON lines";
  }

  int recognise(std::string_view head) const override {
    const auto has = [&](std::string_view word) { return head.find(word) != head.npos; };
    const std::size_t start = head.find_first_not_of(" \n\r\t");
    if (start == head.npos || head[start] != '{') return 0;
    return has("\"ProfilerLifecycle\"") || (has("\"recordType\"") && has("\"ncclProfile")) ? 97 : 0;
  }

  Result<std::vector<RankTrace>> read(ByteSource& source, const ReadOptions& options,
                                      Diagnostics& diagnostics) const override {
    JsonScanner json(source);
    ProfilerFile file;
    WEFT_TRY(nccl::read_lines(json, source, options, diagnostics, [&] {
      ProfilerRecord record;
      nccl::read_record(json, record);
      if (json.ok()) file.add(record);
    }));
    return nccl::assemble(file.finish(source.name(), diagnostics), source.name(), name(),
                          diagnostics);
  }
};

}  // namespace

std::unique_ptr<Reader> make_nccl_profiler_reader() {
  return std::make_unique<NcclProfilerReader>();
}

}  // namespace weft::trace
