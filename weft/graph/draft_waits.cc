// SPDX-License-Identifier: Apache-2.0
// Who waits for whom across streams, and which device work a blocking host call waited for.
//
// With cuda_sync records this is written down. Without, or where these lost it, the wait calls are
// there but name no streams, and the convention of the frameworks fills in: a wait right before a
// communication kernel makes communication follow the compute issued so far; a wait before compute
// makes that compute follow communication. build() later drops what the recorded times contradict.
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

/// Device clocks and host clocks agree to about this much within one trace.
constexpr Nanos kClockTolerance = 2 * kMicrosecond;
/// Work that starts this soon after a communication ended, and could have started before, waited
/// for it.
constexpr Nanos kCoincidence = 50 * kMicrosecond;

bool is_wait_call(std::string_view name) {
  constexpr std::array<std::string_view, 3> kCalls = {"cudaStreamWaitEvent", "cuStreamWaitEvent",
                                                      "hipStreamWaitEvent"};
  return std::find(kCalls.begin(), kCalls.end(), name) != kCalls.end();
}

/// Device ops in the order in which the host issued them.
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
        outstanding_.push_back(id);
      } else {
        const auto before = previous.find(id);
        const Nanos free = std::max(
            op.issued, before == previous.end() ? kLongAgo : draft_.ops[before->second].end());
        // A long pause that ends with other work speaks for itself, wait call or not.
        const bool paused = waits.any > 0 || op.start - free > kCoincidence;
        if (!paused || !follow_cause(id, free)) follow_communication(id, waits.for_communication);
        if (waits.any > 0) follow_other_stream(id, last_issued);
        last_compute_[op.lane] = id;
      }
      last_issued = id;
    }
  }

 private:
  /// Whose code made a wait call. Calls from within a collective order its kernel only; calls from
  /// within a compute op order streams that op uses; all others wait for communication.
  enum class Caller : std::uint8_t { kCollective, kComputeOp, kOther };

  struct Waits {
    int any = 0;
    int for_communication = 0;
  };

  /// For each launched op: wait calls made since the launch before it, on any thread. (At the end
  /// of a backward pass its thread makes the stream wait, and another thread launches the
  /// optimiser.)
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

  void follow_compute(OpId id) {
    for (const auto& [lane, last] : last_compute_) {
      if (lane != draft_.ops[id].lane) add(last, id);
    }
  }

  /// `free`: when the op could have started but for the wait. If other work ended right before its
  /// start, that was what it waited for; true if so.
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

  /// Streams run in order: once one communication is over, so is what its stream did before.
  void forget(OpId source) {
    const auto found = std::find(outstanding_.begin(), outstanding_.end(), source);
    if (found == outstanding_.end()) return;
    const LaneId lane = draft_.ops[source].lane;
    const auto end = std::next(found);
    outstanding_.erase(std::remove_if(outstanding_.begin(), end,
                                      [&](OpId other) { return draft_.ops[other].lane == lane; }),
                       end);
  }

  /// Without a pause that shows what was waited for: the communication issued first.
  void follow_communication(OpId id, int waits) {
    const Nanos start = draft_.ops[id].start;
    for (; waits > 0 && !outstanding_.empty(); --waits) {
      if (draft_.ops[outstanding_.front()].end() > start + kClockTolerance) break;
      add(outstanding_.front(), id);
      outstanding_.pop_front();
    }
  }

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
  std::unordered_map<OpId, Waits> waits_;
  std::map<LaneId, OpId> last_compute_;
  std::vector<OpId> by_end_;
  std::deque<OpId> outstanding_;  ///< communication nobody has waited for yet, as issued
};

/// Whether sync records tell what streams wait for. With CUDA 13 the profiler loses it for all.
bool records_tell_waits(const trace::RankTrace& trace) {
  std::int64_t waits = 0, told = 0;
  for (const trace::SyncDetail& sync : trace.syncs) {
    if (sync.kind != SyncKind::kStreamWaitEvent) continue;
    ++waits;
    if (sync.wait_on_record >= 0) ++told;
  }
  return trace.facts.sync_events && 2 * told >= waits;
}

/// Streams and calls of the trace by the numbers that sync records use.
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

/// Execution graphs name what each piece of device work follows; host work is tied by launches.
void waits_from_dependencies(const trace::RankTrace& trace, RankDraft& draft) {
  for (const trace::Dependency& dependency : trace.dependencies) {
    const OpId before = draft.op_of_event[dependency.before];
    const OpId after = draft.op_of_event[dependency.after];
    if (before != kNoId && after != kNoId) {
      draft.edges.push_back({before, after, EdgeKind::kData, false});
    }
  }
}

/// A blocking call returned because some device work ended: the latest to end before the return,
/// among what had been issued before the call.
void waits_of_host(RankDraft& draft) {
  std::vector<OpId> by_end;
  for (const OpId id : draft.op_of_event) {
    if (id != kNoId) by_end.push_back(id);
  }
  std::sort(by_end.begin(), by_end.end(), [&](OpId a, OpId b) {
    return std::pair{draft.ops[a].end(), a} < std::pair{draft.ops[b].end(), b};
  });
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
