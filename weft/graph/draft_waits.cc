// SPDX-License-Identifier: Apache-2.0
// Adds the waits of one rank: dependencies between streams, and the device work that each blocking
// host call waited for. Dependencies between streams come from the best source that the trace has:
//
//   1. Recorded dependencies (execution graphs): taken as they are.
//   2. cuda_sync records of the PyTorch profiler. Each cudaStreamWaitEvent names the event's record
//      call and the stream it was recorded on. So the first work that the waiting stream got after
//      the wait follows the last work that the recording stream got before the record.
//   3. Neither: inference. The trace has the wait calls, but they name no streams. PyTorch's use of
//      streams fills in. A wait right before a communication kernel makes communication follow the
//      compute issued so far (ProcessGroupNCCL synchronises its stream with the current one before
//      each collective). A wait before compute makes that compute follow communication
//      (Work::wait()). Pauses of a stream decide which work it waited for.
//
// Inferred edges may be wrong. set_delays() later drops those that the recorded times contradict.
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

/// The device clock and the host clock of one trace agree to about this much.
constexpr Nanos kClockTolerance = 2 * kMicrosecond;
/// Work that could have started earlier, and starts within this time of the end of other work,
/// waited for that work.
constexpr Nanos kCoincidence = 50 * kMicrosecond;

bool is_wait_call(std::string_view name) {
  constexpr std::array<std::string_view, 3> kCalls = {"cudaStreamWaitEvent", "cuStreamWaitEvent",
                                                      "hipStreamWaitEvent"};
  return std::find(kCalls.begin(), kCalls.end(), name) != kCalls.end();
}

/// Device ops (and host-side collectives) in the order in which the host issued them.
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

/// Source 3 of the head of this file. Walks over the device work in order of issue and decides for
/// each piece of work whether it waited, and for what.
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
        // A long pause that ends together with other work shows a wait, with or without wait call.
        const bool paused = waits.any > 0 || op.start - free > kCoincidence;
        if (!paused || !follow_cause(id, free)) follow_communication(id, waits.for_communication);
        if (waits.any > 0) follow_other_stream(id, last_issued);
        last_compute_[op.lane] = id;
      }
      last_issued = id;
    }
  }

 private:
  /// Which code made a wait call. A call made by a collective only orders the kernel of this
  /// collective. A call made by a compute op orders the streams that this op uses. Any other call
  /// (Work::wait(), the end of the backward pass) makes compute wait for communication.
  enum class Caller : std::uint8_t { kCollective, kComputeOp, kOther };

  /// Wait calls that preceded a launch.
  struct Waits {
    int any = 0;                ///< all of them
    int for_communication = 0;  ///< those with Caller::kOther
  };

  /// Sets `waits_`: for each launched op, the wait calls made since the launch before it, on any
  /// thread. All threads count, because at the end of a backward pass the autograd thread makes the
  /// stream wait, and the main thread then launches the optimizer.
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

  /// Looks at the framework ops around the call, from the inside out. PyTorch records a collective
  /// as c10d::... > record_param_comms > nccl:..., and Work::wait() as a record_param_comms whose
  /// collective is named "wait".
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

  /// Communication after a wait call follows the last compute of each other stream.
  void follow_compute(OpId id) {
    for (const auto& [lane, last] : last_compute_) {
      if (lane != draft_.ops[id].lane) add(last, id);
    }
  }

  /// Finds the work that ended right before the op's start, on another stream, issued before the op
  /// and still running at `free` (the time at which the op could have started). If there is such
  /// work, the op waited for it: adds the edge and returns true.
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

  /// Removes a communication from the outstanding ones, with everything before it on its stream: a
  /// stream runs in order, so the earlier communication is over, too.
  void forget(OpId source) {
    const auto found = std::find(outstanding_.begin(), outstanding_.end(), source);
    if (found == outstanding_.end()) return;
    const LaneId lane = draft_.ops[source].lane;
    const auto end = std::next(found);
    outstanding_.erase(std::remove_if(outstanding_.begin(), end,
                                      [&](OpId other) { return draft_.ops[other].lane == lane; }),
                       end);
  }

  /// If no pause shows what the op waited for: each wait call waits for one communication, the
  /// oldest outstanding one first. One that ended after the op's start cannot have been awaited.
  void follow_communication(OpId id, int waits) {
    const Nanos start = draft_.ops[id].start;
    for (; waits > 0 && !outstanding_.empty(); --waits) {
      if (draft_.ops[outstanding_.front()].end() > start + kClockTolerance) break;
      add(outstanding_.front(), id);
      outstanding_.pop_front();
    }
  }

  /// Compute after a wait call follows the work issued just before it, if that work is compute on
  /// another stream: frameworks fork and join side streams in this way.
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
  std::unordered_map<OpId, Waits> waits_;  ///< by launched op
  std::map<LaneId, OpId> last_compute_;    ///< last issued compute of each stream
  std::vector<OpId> by_end_;               ///< device work by its end
  std::deque<OpId> outstanding_;  ///< communication that nothing waits for yet, in order of issue
};

/// Whether at least half of the sync records tell what a stream waited for. With CUDA 13, the
/// profiler writes sync records that name neither stream nor event record.
bool records_tell_waits(const trace::RankTrace& trace) {
  std::int64_t waits = 0, told = 0;
  for (const trace::SyncDetail& sync : trace.syncs) {
    if (sync.kind != SyncKind::kStreamWaitEvent) continue;
    ++waits;
    if (sync.wait_on_record >= 0) ++told;
  }
  return trace.facts.sync_events && 2 * told >= waits;
}

/// Source 2. Sync records name streams by number and event records by correlation id, so both are
/// looked up by these numbers first.
void waits_from_records(const trace::RankTrace& trace, RankDraft& draft) {
  const auto& e = trace.events;
  std::map<std::int64_t, std::vector<OpId>> on_stream;  // as issued
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

/// Source 1. Only dependencies between device work become edges; launches connect the host ops.
void waits_from_dependencies(const trace::RankTrace& trace, RankDraft& draft) {
  for (const trace::Dependency& dependency : trace.dependencies) {
    const OpId before = draft.op_of_event[dependency.before];
    const OpId after = draft.op_of_event[dependency.after];
    if (before != kNoId && after != kNoId) {
      draft.edges.push_back({before, after, EdgeKind::kData, false});
    }
  }
}

/// A blocking call returns because device work ended. No profiler says which, so take the work that
/// ended last before the return, of all work issued before the call. Work that ended long before
/// the call (1 ms) cannot be the cause: then the call did not wait for the device.
void waits_of_host(RankDraft& draft) {
  std::vector<OpId> by_end;
  for (const OpId id : draft.op_of_event) {
    if (id != kNoId) by_end.push_back(id);
  }
  std::sort(by_end.begin(), by_end.end(), [&](OpId a, OpId b) {
    return std::pair{draft.ops[a].end(), a} < std::pair{draft.ops[b].end(), b};
  });
  // An order edge into a kSync op joins a blocking call and its return. The loop appends to
  // draft.edges, so it stops at the edges that were there before.
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
