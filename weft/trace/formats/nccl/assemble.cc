// SPDX-License-Identifier: Apache-2.0
// assemble() first numbers the workers: by their rank in the largest communicator if possible, else
// by the file name or by order. Then a RankWriter writes each worker's events: calls, launches with
// one kernel each, and operations without launch. RankWriter must know the rank in the job of each
// member of a communicator. `groups` contains these ranks. They are known only after all workers
// are numbered.
#include "weft/trace/formats/nccl/assemble.h"

#include <algorithm>
#include <map>
#include <utility>

#include "weft/trace/clock/check.h"
#include "weft/trace/formats/nccl/describe.h"
#include "weft/trace/match/calls.h"
#include "weft/trace/runs/file_name.h"

namespace weft::trace::nccl {
namespace {

constexpr DiagnosticKind kUntimed{
    "nccl-enqueue-times", Severity::kWarning,
    "collectives have no device times; the time that the host took to enqueue them was used "
    "instead, which does not tell how long the transfer took",
    "let the plug-in record kernel events: set WEFT_NCCL_EVENTS=all for Weft's plug-in, and "
    "NCCL_PROFILE_EVENT_MASK with KernelCh (64) for other plug-ins"};
constexpr DiagnosticKind kOrdered{
    "rank-by-order", Severity::kInfo,
    "no communicator distinguishes all ranks of the file; they were numbered in file order",
    "record one job per file"};
constexpr std::size_t kLargestGroup = 1u << 16;

/// Maps ranks within one communicator to ranks in the job. Contains only the members that the file
/// names.
using Members = std::map<std::int64_t, std::int32_t>;

using Groups = std::map<std::string, Members>;  // communicator -> its members

class RankWriter {
 public:
  RankWriter(const Worker& worker, const Groups& groups, RankTrace& trace)
      : worker_(worker), groups_(groups), trace_(trace) {
    for (const Membership& m : worker.memberships) mine_[m.communicator] = m;
  }

  /// Number of operations without device times.
  std::int64_t untimed() const { return untimed_; }

  void write() {
    for (const HostCall& call : worker_.calls) {
      add(EventKind::kHostOp, call.function, call.on_host, lane(false, call.thread));
    }
    std::vector<std::vector<const Operation*>> of_launch(worker_.launches.size());
    for (const Operation& operation : worker_.operations) {
      if (operation.launch == kNoLaunch) {
        write_alone(operation);
      } else {
        of_launch[operation.launch].push_back(&operation);
      }
    }
    for (std::size_t i = 0; i < of_launch.size(); ++i) {
      if (!of_launch[i].empty()) write_launch(static_cast<std::uint32_t>(i), of_launch[i]);
    }
    write_groups();
  }

 private:
  static bool is_message(const Operation& operation) {
    return kind_from_name(operation.function) == CollectiveKind::kSendRecv;
  }

  static std::string kernel_name(const Operation& operation) {
    return "ncclDevKernel_" + (is_message(operation) ? "SendRecv" : operation.function);
  }

  std::uint32_t lane(bool on_device, std::int64_t number) {
    const auto next = static_cast<std::uint32_t>(trace_.lanes.size());
    const auto [found, fresh] = lanes_.try_emplace({on_device, number}, next);
    if (fresh) {
      trace_.lanes.push_back(
          {on_device, on_device ? 0 : worker_.process, number, on_device ? 0 : -1, ""});
    }
    return found->second;
  }

  void add(EventKind kind, std::string_view name, const Span& span, std::uint32_t lane,
           std::uint32_t correlation = 0, std::uint32_t detail = kNone) {
    trace_.events.add(kind, span.start, span.end - span.start, trace_.names.intern(name), lane,
                      correlation, detail);
  }

  std::uint32_t describe_operation(const Operation& operation, std::int64_t count) {
    const auto known = mine_.find(operation.communicator);
    ApiCall call;
    call.function = operation.function;
    call.dtype = operation.dtype;
    call.count = count;
    call.group = operation.communicator;
    if (known != mine_.end()) call.group_size = known->second.ranks;
    call.sequence = operation.sequence;
    call.self = trace_.rank;
    if (known != mine_.end()) call.peer = rank_of(known->second, operation.peer);
    trace_.collectives.push_back(describe(trace_.names, call));
    return static_cast<std::uint32_t>(trace_.collectives.size() - 1);
  }

  void add_kernel(std::string_view name, const Span& span, std::int64_t stream,
                  std::uint32_t correlation, std::uint32_t collective) {
    std::uint32_t detail = kNone;
    if (collective != kNone) {
      trace_.kernels.push_back({0, collective, kNone});
      detail = static_cast<std::uint32_t>(trace_.kernels.size() - 1);
    }
    add(EventKind::kKernel, name, span, lane(true, stream), correlation, detail);
  }

  // If the launch of an operation was not recorded, the operation becomes a kernel, and the time in
  // which the host enqueued it becomes the launch.
  void write_alone(const Operation& operation) {
    untimed_ += operation.on_device.known() ? 0 : 1;
    const Span span = operation.on_device.known() ? operation.on_device : operation.on_host;
    if (!span.known()) return;
    std::uint32_t correlation = 0;
    if (operation.on_host.known()) {
      correlation = static_cast<std::uint32_t>(worker_.launches.size()) + ++queued_;
      add(EventKind::kRuntime, "NCCL enqueue", operation.on_host, lane(false, operation.thread),
          correlation);
    }
    add_kernel(kernel_name(operation), span, operation.stream, correlation,
               describe_operation(operation, operation.count));
  }

  // NCCL executes all operations of a group call in one kernel.
  void write_launch(std::uint32_t index, const std::vector<const Operation*>& operations) {
    const Launch& launch = worker_.launches[index];
    const std::uint32_t correlation = index + 1;
    const std::uint32_t thread = lane(false, launch.thread);
    Span device = launch.on_device;
    Span host = launch.on_host;
    bool timed = device.known();
    const Operation* collective = nullptr;
    std::int64_t count = 0;
    for (const Operation* operation : operations) {
      if (!launch.on_device.known()) device.cover(operation->on_device);
      timed |= operation->on_device.known();
      host.cover(operation->on_host);
      if (is_message(*operation)) {
        // A kernel event can describe only one collective. So each message becomes a host op
        // directly before the launch of the kernel. The matching of messages looks for host ops
        // there.
        const Nanos before = std::max<Nanos>(0, launch.on_host.start - 1);
        trace_.host_ops.push_back({});
        trace_.host_ops.back().collective = describe_operation(*operation, operation->count);
        add(EventKind::kHostOp, "nccl" + operation->function, {before, before}, thread, 0,
            static_cast<std::uint32_t>(trace_.host_ops.size() - 1));
      } else if (collective == nullptr || (collective->function == operation->function &&
                                           collective->dtype == operation->dtype &&
                                           collective->communicator == operation->communicator)) {
        // Collectives of the same function, type and communicator in one kernel are one transfer:
        // their counts add up. A negative count marks an unknown or overflowed sum.
        if (collective == nullptr) collective = operation;
        if (operation->count < 0 || __builtin_add_overflow(count, operation->count, &count)) {
          count = INT64_MIN / 2;
        }
      }
    }
    if (!timed) device = host;
    untimed_ += timed ? 0 : static_cast<std::int64_t>(operations.size());
    add(EventKind::kRuntime, "NCCL kernel launch", launch.on_host, thread, correlation);
    const std::string name =
        launch.kernel.empty() ? kernel_name(*operations.front()) : launch.kernel;
    add_kernel(name, device, launch.stream, correlation,
               collective == nullptr ? kNone : describe_operation(*collective, count));
  }

  /// The rank in the job of the member `place` of one of our communicators; -1 if it is unknown.
  std::int32_t rank_of(const Membership& mine, std::int64_t place) const {
    // If a communicator has as many members as the job, and our rank is the same in the
    // communicator and in the job, then the ranks of the other members are assumed to be the same
    // too.
    const bool everybody = mine.ranks == trace_.world && mine.rank == trace_.rank;
    if (everybody && place >= 0 && place < mine.ranks) return static_cast<std::int32_t>(place);
    const auto group = groups_.find(mine.communicator);
    if (group == groups_.end()) return -1;
    const auto member = group->second.find(place);
    return member == group->second.end() ? -1 : member->second;
  }

  /// Lists the members of every communicator whose members are all known.
  void write_groups() {
    for (const auto& [communicator, mine] : mine_) {
      const std::int64_t size = mine.ranks;
      ProcessGroup group;
      group.name = communicator;
      if (size <= 0 || size > static_cast<std::int64_t>(kLargestGroup)) continue;
      for (std::int64_t place = 0; place < size; ++place) {
        const std::int32_t rank = rank_of(mine, place);
        if (rank < 0) break;
        group.ranks.push_back(rank);
      }
      if (static_cast<std::int64_t>(group.ranks.size()) == size) {
        trace_.groups.push_back(std::move(group));
      }
    }
  }

  const Worker& worker_;
  const Groups& groups_;
  RankTrace& trace_;
  std::map<std::string, Membership> mine_;
  std::map<std::pair<bool, std::int64_t>, std::uint32_t> lanes_;
  std::int64_t untimed_ = 0;
  std::uint32_t queued_ = 0;
};

}  // namespace

void Span::cover(const Span& other) {
  if (!other.known()) return;
  start = known() ? std::min(start, other.start) : other.start;
  end = std::max(end, other.end);
}

Result<std::vector<RankTrace>> assemble(std::vector<Worker> workers, const std::string& file,
                                        const char* format, Diagnostics& diagnostics) {
  std::erase_if(workers, [](const Worker& worker) { return worker.operations.empty(); });
  std::vector<std::vector<Membership>> memberships;
  for (const Worker& worker : workers) memberships.push_back(worker.memberships);
  std::vector<Place> places = place_workers(memberships);
  const bool placed = !places.empty() && places.front().rank >= 0;
  if (!placed && workers.size() == 1) places.front().rank = rank_from_name(file);
  if (!placed && workers.size() > 1) {
    diagnostics.add(kOrdered, file);
    for (std::size_t i = 0; i < places.size(); ++i) places[i].rank = static_cast<std::int32_t>(i);
  }
  Groups groups;
  for (std::size_t i = 0; i < workers.size(); ++i) {
    for (const Membership& m : workers[i].memberships) {
      groups[m.communicator][m.rank] = places[i].rank;
    }
  }
  std::vector<RankTrace> ranks;
  for (std::size_t i = 0; i < workers.size(); ++i) {
    RankTrace trace;
    trace.file = file;
    trace.format = format;
    trace.rank = places[i].rank;
    trace.world = places[i].world;
    trace.host = workers[i].host;
    trace.process = workers[i].process;
    trace.facts.total_events = workers[i].records;
    trace.facts.device_events = true;
    trace.facts.collective_args = true;
    RankWriter writer(workers[i], groups, trace);
    writer.write();
    diagnostics.add(kUntimed, file, writer.untimed());
    // Drop a worker without any usable time. The other workers are still useful.
    const Status believable = check_clock(trace, diagnostics);
    if (believable && trace.events.size() > 0) ranks.push_back(std::move(trace));
  }
  if (ranks.empty()) {
    return fail(
        ErrorCode::kBadInput,
        "the file contains no collective or message with a time; let the plug-in record more "
        "events, or let the job run longer",
        file);
  }
  return ranks;
}

}  // namespace weft::trace::nccl
