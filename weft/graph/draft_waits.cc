// SPDX-License-Identifier: Apache-2.0
// Adds the waits of one rank: dependencies between streams, and the device work for which each
// blocking host call waited. Dependencies between streams come from the best source that the trace
// has:
//
//   1. Recorded dependencies (execution graphs). They are used as they are.
//   2. cuda_sync records of the PyTorch profiler. The record of a cudaStreamWaitEvent names the
//      call that recorded the event and the stream of the event. So the first work that the waiting
//      stream got after the wait follows the last work that the other stream got before the event.
//   3. Inference, if the trace has neither. The trace has the wait calls, but they name no streams.
//      So Weft uses its knowledge of how PyTorch uses streams. A wait right before a communication
//      kernel makes communication follow the compute issued so far (before each collective,
//      ProcessGroupNCCL makes its stream wait for the current stream). A wait before compute makes
//      this compute follow communication (Work::wait()). Pauses of a stream show for which work it
//      waited.
//
// Inferred edges may be wrong. set_delays() later drops the ones that the recorded times
// contradict.
#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <unordered_map>

#include "weft/graph/rank_draft.h"

namespace weft::graph {
namespace {

using trace::EventKind;
using trace::SyncKind;

/// The device clock and the host clock of one trace differ by at most about this much.
constexpr Nanos kClockTolerance = 2 * kMicrosecond;
/// If work could have started earlier, but starts within this time of the end of other work, it
/// waited for the other work.
constexpr Nanos kCoincidence = 50 * kMicrosecond;

bool is_wait_call(std::string_view name) {
  constexpr std::array<std::string_view, 3> kCalls = {"cudaStreamWaitEvent", "cuStreamWaitEvent",
                                                      "hipStreamWaitEvent"};
  return std::find(kCalls.begin(), kCalls.end(), name) != kCalls.end();
}

/// Returns device ops (and host-side collectives) in the order in which the host issued them.
std::vector<OpId> by_issue(const RankDraft& draft) {
  std::vector<OpId> ops;
  for (const OpId id : draft.op_of_event) {
    if (id != kNoId) ops.push_back(id);
  }
  std::sort(ops.begin(), ops.end(), [&](OpId a, OpId b) {
    return std::pair{draft.ops[a].issued, a} < std::pair{draft.ops[b].issued, b};
  });
  return ops;
}

/// Source 3 of the file head. Goes through the device work in the order of issue. For each piece of
/// work, decides whether it waited, and for which other work.
class WaitInference {
 public:
  WaitInference(const trace::RankTrace& trace, const trace::Launches& launches, RankDraft& draft)
      : trace_(trace), launches_(launches), draft_(draft) {}

  void run() {
    count_waits_before_launches();
    std::unordered_map<OpId, OpId> previous;
    for (const DraftEdge& edge : draft_.edges) {
      if (edge.kind == EdgeKind::kOrder) previous[edge.destination] = edge.source;
    }
    by_end_ = by_issue(draft_);
    std::stable_sort(by_end_.begin(), by_end_.end(),
                     [&](OpId a, OpId b) { return draft_.ops[a].end() < draft_.ops[b].end(); });
    OpId last_issued = kNoId;
    for (const OpId id : by_issue(draft_)) {
      const DraftOp& op = draft_.ops[id];
      const auto found = waits_.find(id);
      const Waits waits = found == waits_.end() ? Waits{} : found->second;
      if (op.communication) {
        if (waits.any > 0) follow_compute(id);
        outstanding_.push_back(id);  // until compute waits for it
      } else {
        const auto before = previous.find(id);
        // The op could have started at `free`: it was issued, and its stream was idle.
        const Nanos free = std::max(
            op.issued, before == previous.end() ? kLongAgo : draft_.ops[before->second].end());
        // A long pause whose end coincides with the end of other work is a wait, with or without a
        // wait call.
        const bool paused = waits.any > 0 || op.start - free > kCoincidence;
        if (!paused || !follow_cause(id, free)) follow_communication(id, waits.for_communication);
        if (waits.any > 0) follow_other_stream(id, last_issued);
        last_compute_[op.lane] = id;
      }
      last_issued = id;
    }
  }

 private:
  /// Which code made a wait call. If a collective made it, it only orders the kernel of this
  /// collective. If a compute op made it, it orders the streams that this op uses. Any other call
  /// (Work::wait(), the end of the backward pass) makes compute wait for communication.
  enum class Caller : std::uint8_t { kCollective, kComputeOp, kOther };

  /// The numbers of wait calls that preceded a launch.
  struct Waits {
    int any = 0;                ///< all wait calls
    int for_communication = 0;  ///< wait calls with Caller::kOther
  };

  /// Sets `waits_`. For each launched op, counts the wait calls since the launch before it, on all
  /// threads. All threads must count: at the end of a backward pass, the autograd thread makes the
  /// stream wait, and then the main thread launches the optimizer.
  void count_waits_before_launches() {
    const auto& e = trace_.events;
    std::vector<std::pair<Nanos, Caller>> calls;
    for (std::uint32_t i = 0; i < e.size(); ++i) {
      if (e.kind[i] == EventKind::kRuntime && is_wait_call(trace_.names.text(e.name[i]))) {
        calls.emplace_back(e.start[i], caller(i));
      }
    }
    std::sort(calls.begin(), calls.end());
    std::vector<std::pair<Nanos, OpId>> launched;
    for (const DraftEdge& edge : draft_.edges) {
      if (edge.kind == EdgeKind::kLaunch) {
        launched.emplace_back(draft_.ops[edge.source].start, edge.destination);
      }
    }
    std::sort(launched.begin(), launched.end());
    auto next = calls.begin();
    for (const auto& [time, op] : launched) {
      Waits waits;
      for (; next != calls.end() && next->first < time; ++next) {
        ++waits.any;
        if (next->second == Caller::kOther) ++waits.for_communication;
      }
      if (waits.any > 0) waits_[op] = waits;
    }
  }

  /// Finds out which code made the call. Looks at the framework ops around the call, the innermost
  /// first. PyTorch records a collective as c10d::... > record_param_comms > nccl:.... It records
  /// Work::wait() as a record_param_comms whose collective is named "wait".
  Caller caller(std::uint32_t call) const {
    bool innermost = true;
    for (std::uint32_t e = launches_.parent[call]; e != trace::kNone; e = launches_.parent[e]) {
      const std::string_view name = trace_.names.text(trace_.events.name[e]);
      if (innermost && name.starts_with("aten::")) return Caller::kComputeOp;
      innermost = false;
      if (name.find("wait") != std::string_view::npos) return Caller::kOther;
      if (name == "record_param_comms") {
        const std::uint32_t detail = trace_.events.detail[e];
        const bool known = trace_.events.kind[e] == EventKind::kHostOp && detail != trace::kNone &&
                           trace_.host_ops[detail].collective != trace::kNone;
        if (!known) return Caller::kCollective;
        const auto& args = trace_.collectives[trace_.host_ops[detail].collective];
        return trace_.names.text(args.name) == "wait" ? Caller::kOther : Caller::kCollective;
      }
      if (name.starts_with("nccl:") || name.starts_with("c10d::")) return Caller::kCollective;
    }
    return Caller::kOther;
  }

  /// Adds edges for communication after a wait call: it follows the last compute of each other
  /// stream.
  void follow_compute(OpId id) {
    for (const auto& [lane, last] : last_compute_) {
      if (lane != draft_.ops[id].lane) add(last, id);
    }
  }

  /// Finds work on another stream that ended right before the start of the op. The work must have
  /// been issued before the op, and must still have run at `free`, the time at which the op could
  /// have started. If there is such work, the op waited for it: adds the edge and returns true.
  bool follow_cause(OpId id, Nanos free) {
    const DraftOp& op = draft_.ops[id];
    auto it =
        std::upper_bound(by_end_.begin(), by_end_.end(), op.start + kClockTolerance,
                         [&](Nanos time, OpId other) { return time < draft_.ops[other].end(); });
    while (it != by_end_.begin()) {
      const OpId source = *--it;
      const DraftOp& cause = draft_.ops[source];
      if (cause.end() <= free || op.start - cause.end() >= kCoincidence) return false;
      if (cause.lane == op.lane || cause.issued >= op.issued) continue;
      add(source, id);
      if (cause.communication) forget(source);
      return true;
    }
    return false;
  }

  /// Removes a communication and everything before it on its stream from the outstanding
  /// communication. A stream runs in order, so the earlier communication is over, too.
  void forget(OpId source) {
    const auto found = std::find(outstanding_.begin(), outstanding_.end(), source);
    if (found == outstanding_.end()) return;
    const LaneId lane = draft_.ops[source].lane;
    const auto end = std::next(found);
    outstanding_.erase(std::remove_if(outstanding_.begin(), end,
                                      [&](OpId other) { return draft_.ops[other].lane == lane; }),
                       end);
  }

  /// Adds edges to an op that has wait calls, but no pause that shows for which work it waited.
  /// Assumes that each wait call waits for one communication, the oldest outstanding communication
  /// first. A communication that ended after the start of the op cannot be meant.
  void follow_communication(OpId id, int waits) {
    const Nanos start = draft_.ops[id].start;
    for (; waits > 0 && !outstanding_.empty(); --waits) {
      if (draft_.ops[outstanding_.front()].end() > start + kClockTolerance) break;
      add(outstanding_.front(), id);
      outstanding_.pop_front();
    }
  }

  /// Compute after a wait call may follow the work that was issued just before it, if that work is
  /// compute on another stream. Frameworks create such waits when they move work to a side stream
  /// and back.
  void follow_other_stream(OpId id, OpId last_issued) {
    if (last_issued == kNoId) return;
    const DraftOp& last = draft_.ops[last_issued];
    if (!last.communication && last.lane != draft_.ops[id].lane) add(last_issued, id);
  }

  void add(OpId source, OpId destination) {
    draft_.edges.push_back({source, destination, EdgeKind::kEventWait, true});
  }

  const trace::RankTrace& trace_;
  const trace::Launches& launches_;
  RankDraft& draft_;
  std::unordered_map<OpId, Waits> waits_;  ///< waits_[op]: the wait calls before its launch
  std::map<LaneId, OpId> last_compute_;    ///< last issued compute of each stream
  std::vector<OpId> by_end_;               ///< all device work, sorted by its end
  /// communication for which nothing waits yet, in the order of issue
  std::deque<OpId> outstanding_;
};

/// Whether at least half of the records of stream waits name the event for which the stream waited.
/// With CUDA 13, the profiler writes records that name neither the stream nor the record of the
/// event.
bool records_tell_waits(const trace::RankTrace& trace) {
  std::int64_t waits = 0, told = 0;
  for (const trace::SyncDetail& sync : trace.syncs) {
    if (sync.kind != SyncKind::kStreamWaitEvent) continue;
    ++waits;
    if (sync.wait_on_record >= 0) ++told;
  }
  return trace.facts.sync_events && 2 * told >= waits;
}

/// Source 2 of the file head. Sync records name streams by number and event records by correlation
/// id. So the function first makes tables to look up both.
void waits_from_records(const trace::RankTrace& trace, RankDraft& draft) {
  const auto& e = trace.events;
  std::map<std::int64_t, std::vector<OpId>> on_stream;  // in the order of issue
  for (const OpId id : by_issue(draft)) {
    const trace::Lane& lane = trace.lanes[e.lane[draft.ops[id].event]];
    on_stream[lane.tid].push_back(id);
  }
  std::unordered_map<std::uint32_t, std::uint32_t> call_of_correlation;
  for (std::uint32_t i = 0; i < e.size(); ++i) {
    if (e.kind[i] == EventKind::kRuntime && e.correlation[i] != 0) {
      call_of_correlation.emplace(e.correlation[i], i);
    }
  }
  const auto issued_before = [&](const std::vector<OpId>& ops, Nanos time) {
    return std::partition_point(ops.begin(), ops.end(),
                                [&](OpId id) { return draft.ops[id].issued < time; });
  };
  for (std::uint32_t i = 0; i < e.size(); ++i) {
    if (e.kind[i] != EventKind::kSync || e.detail[i] == trace::kNone) continue;
    const trace::SyncDetail& sync = trace.syncs[e.detail[i]];
    if (sync.kind != SyncKind::kStreamWaitEvent || sync.wait_on_record < 0) continue;
    const auto record = call_of_correlation.find(static_cast<std::uint32_t>(sync.wait_on_record));
    const auto wait = call_of_correlation.find(e.correlation[i]);
    const auto from = on_stream.find(sync.wait_on_stream);
    const auto to = on_stream.find(sync.stream);
    if (record == call_of_correlation.end() || wait == call_of_correlation.end() ||
        from == on_stream.end() || to == on_stream.end()) {
      continue;
    }
    const auto source = issued_before(from->second, e.start[record->second]);
    const auto destination = issued_before(to->second, e.start[wait->second]);
    if (source == from->second.begin() || destination == to->second.end()) continue;
    draft.edges.push_back({*std::prev(source), *destination, EdgeKind::kEventWait, false});
  }
}

/// Source 1 of the file head. Only dependencies between device work become edges, because host ops
/// are already connected to device work by launches.
void waits_from_dependencies(const trace::RankTrace& trace, RankDraft& draft) {
  for (const trace::Dependency& dependency : trace.dependencies) {
    const OpId before = draft.op_of_event[dependency.before];
    const OpId after = draft.op_of_event[dependency.after];
    if (before != kNoId && after != kNoId) {
      draft.edges.push_back({before, after, EdgeKind::kData, false});
    }
  }
}

/// Adds the device work for which each blocking call waited. No profiler records which work this
/// was. Of all work that was issued before the call, the function takes the work that ended last
/// before the return. If this work ended long before the call (1 ms), it cannot be the cause: the
/// call did not wait for the device.
void waits_of_host(RankDraft& draft) {
  std::vector<OpId> by_end;
  for (const OpId id : draft.op_of_event) {
    if (id != kNoId) by_end.push_back(id);
  }
  std::sort(by_end.begin(), by_end.end(), [&](OpId a, OpId b) {
    return std::pair{draft.ops[a].end(), a} < std::pair{draft.ops[b].end(), b};
  });
  // An order edge into a kSync op connects a blocking call and its return. The loop appends to
  // draft.edges. So it looks only at the edges that were there before.
  const std::size_t known = draft.edges.size();
  for (std::size_t i = 0; i < known; ++i) {
    const DraftEdge edge = draft.edges[i];
    const DraftOp& done = draft.ops[edge.destination];
    if (edge.kind != EdgeKind::kOrder || done.kind != OpKind::kSync) continue;
    const DraftOp& call = draft.ops[edge.source];
    auto it = std::upper_bound(by_end.begin(), by_end.end(), done.start + kClockTolerance,
                               [&](Nanos time, OpId id) { return time < draft.ops[id].end(); });
    while (it != by_end.begin()) {
      --it;
      const DraftOp& work = draft.ops[*it];
      if (work.end() < call.start - kMillisecond) break;
      if (work.issued >= call.start) continue;
      draft.edges.push_back({*it, edge.destination, EdgeKind::kHostSync, true});
      break;
    }
  }
}

}  // namespace

void draft_waits(const trace::RankTrace& trace, const trace::Launches& launches, RankDraft& draft) {
  if (!trace.dependencies.empty()) {
    waits_from_dependencies(trace, draft);
  } else if (records_tell_waits(trace)) {
    waits_from_records(trace, draft);
  } else {
    WaitInference(trace, launches, draft).run();
  }
  waits_of_host(draft);
}

}  // namespace weft::graph
