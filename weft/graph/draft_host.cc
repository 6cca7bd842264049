// SPDX-License-Identifier: Apache-2.0
// Host threads. Only the points where a thread touches the world outside it become ops: calls that
// launch device work, calls that block, gradients that become ready, and the marks between steps.
// What lies between two of them is host work and ends up as the delay of the edge between them.
// A rank without device computes on its threads: there every outermost framework op is work too,
// and host-side collectives (gloo, say) run on threads of their own.
#include <algorithm>
#include <map>
#include <string>

#include "weft/base/sort_runs.h"
#include "weft/graph/host_points.h"
#include "weft/graph/names.h"
#include "weft/graph/rank_draft.h"
#include "weft/trace/steps.h"

namespace weft::graph {
namespace {

using trace::EventKind;
using trace::RankTrace;

/// Shorter gaps on a thread are never taken for waiting for another thread.
constexpr Nanos kThreadGap = 20 * kMicrosecond;
/// A thread that tells others that its collective is over may lose the processor to them before it
/// writes that down; it gets it back after some turns of the scheduler.
constexpr Nanos kLateRecord = 20 * kMillisecond;
/// What applies the gradients waits for all of them.
constexpr std::string_view kOptimizerStep = "Optimizer.step#";

bool is_host_event(EventKind kind) {
  return kind == EventKind::kHostOp || kind == EventKind::kAnnotation ||
         kind == EventKind::kRuntime;
}

/// Starts of the recorded host events of each lane, to count them in a stretch of time.
class EventCounts {
 public:
  explicit EventCounts(const RankTrace& trace) : starts_(trace.lanes.size()) {
    const auto& e = trace.events;
    for (std::size_t i = 0; i < e.size(); ++i) {
      if (is_host_event(e.kind[i])) starts_[e.lane[i]].push_back(e.start[i]);
    }
    for (auto& lane : starts_) sort_runs(lane);
  }
  std::int32_t between(std::uint32_t lane, Nanos from, Nanos to) const {
    const auto& s = starts_[lane];
    const auto begin = std::lower_bound(s.begin(), s.end(), from);
    return static_cast<std::int32_t>(std::lower_bound(begin, s.end(), to) - begin);
  }

 private:
  std::vector<std::vector<Nanos>> starts_;
};

/// Whether a framework op runs on the lane at `time`: then the thread is busy, not waiting.
class BusyThreads {
 public:
  explicit BusyThreads(const RankTrace& trace) : ops_(trace.lanes.size()) {
    const auto& e = trace.events;
    for (std::size_t i = 0; i < e.size(); ++i) {
      if (e.kind[i] == EventKind::kHostOp || e.kind[i] == EventKind::kRuntime) {
        ops_[e.lane[i]].emplace_back(e.start[i], e.end(i));
      }
    }
    for (auto& lane : ops_) {
      sort_runs(lane);
      Nanos latest = INT64_MIN;  // ops nest: keep how far anything that has begun reaches
      for (auto& op : lane) op.second = latest = std::max(latest, op.second);
    }
  }
  bool at(std::uint32_t lane, Nanos time) const {
    const auto& ops = ops_[lane];
    auto it = std::upper_bound(ops.begin(), ops.end(), std::pair{time, INT64_MAX});
    return it != ops.begin() && std::prev(it)->second > time;
  }

 private:
  std::vector<std::vector<std::pair<Nanos, Nanos>>> ops_;
};

class HostDraft {
 public:
  HostDraft(const RankTrace& trace, const trace::Launches& launches,
            const std::vector<bool>& is_communication, RankDraft& draft)
      : trace_(trace),
        launches_(launches),
        is_communication_(is_communication),
        draft_(draft),
        counts_(trace),
        busy_(trace) {}

  void add(const HostPoint& point) {
    const auto& e = trace_.events;
    DraftOp op;
    op.lane = lane(point.lane);
    op.step = trace::step_at(trace_, point.start);
    op.start = point.start;
    op.event = point.event;
    if (point.kind == HostPoint::Kind::kStep) {
      op.kind = OpKind::kHost;
      op.name = kStepMark;
      append(op, point.end);
      return;
    }
    op.name = trace_.names.text(e.name[point.event]);
    if (point.kind == HostPoint::Kind::kGradient) {
      op.kind = OpKind::kHost;
      const std::uint32_t detail = e.detail[point.event];
      if (detail != trace::kNone) op.bytes = trace_.host_ops[detail].input_bytes;
      append(op, point.end);
      return;
    }
    if (point.kind == HostPoint::Kind::kWork) {
      op.kind = OpKind::kHost;
      op.duration = point.end - point.start;
      op.communication = is_communication_[point.event];
      if (op.communication) {
        const auto id = static_cast<OpId>(draft_.ops.size());
        draft_.op_of_event[point.event] = id;
        const auto launch = launch_of_.find(launches_.launcher[point.event]);
        if (launch != launch_of_.end()) {
          append_behind(op, launch->second, point.end);
          return;
        }
      }
      append(op, point.end);
      return;
    }
    if (point.kind == HostPoint::Kind::kBlocking) {
      op.kind = OpKind::kHost;
      append(op, point.end);
      append_return(op, point.end);
      return;
    }
    if (point.queue_wait > 0) {
      DraftOp wait = op;
      wait.kind = OpKind::kHost;
      wait.name = kQueueWait;
      append(wait, point.start);
      append_return(wait, point.start + point.queue_wait);
      op.start = point.start + point.queue_wait;
    }
    op.kind = OpKind::kLaunch;
    op.duration = point.end - op.start;
    launch_of_[point.event] = static_cast<OpId>(draft_.ops.size());
    append(op, point.end);
  }

  /// Collectives that a thread has put into a queue are over before that thread applies the
  /// gradients, or, where that is not recorded, before its next step. A recording in which they are
  /// hidden does not show it.
  void wait_for_collectives() {
    // Where each thread begins to apply gradients, and its ops: both by time.
    std::map<std::uint32_t, std::vector<Nanos>> applied;
    const auto& e = trace_.events;
    for (std::uint32_t i = 0; i < e.size() && !queued_.empty(); ++i) {
      if (e.kind[i] == EventKind::kAnnotation &&
          trace_.names.text(e.name[i]).starts_with(kOptimizerStep)) {
        applied[e.lane[i]].push_back(e.start[i]);
      }
    }
    for (auto& [lane, times] : applied) std::sort(times.begin(), times.end());
    std::vector<std::vector<OpId>> ops(draft_.lanes.size());
    for (OpId id = 0; id < draft_.ops.size(); ++id) ops[draft_.ops[id].lane].push_back(id);

    for (const auto& [collective, launch] : queued_) {
      const DraftOp& from = draft_.ops[launch];
      const std::vector<Nanos>& times = applied[states_[from.lane].trace_lane];
      const auto next = std::lower_bound(times.begin(), times.end(), from.start);
      const Nanos apply = next == times.end() ? INT64_MAX : *next;
      const std::vector<OpId>& thread = ops[from.lane];
      const auto use = std::find_if(
          std::upper_bound(thread.begin(), thread.end(), launch), thread.end(), [&](OpId id) {
            const DraftOp& op = draft_.ops[id];
            return op.start >= apply || (op.step != from.step && op.name == kStepMark);
          });
      if (use != thread.end()) {
        draft_.edges.push_back({collective, *use, EdgeKind::kThread, true});
      }
    }
  }

 private:
  struct LaneState {
    OpId last = kNoId, before = kNoId;  ///< its last op and the one before
    std::uint32_t trace_lane = 0;
  };

  LaneId lane(std::uint32_t trace_lane) {
    const auto [it, is_new] = lanes_.try_emplace(trace_lane, draft_.lanes.size());
    if (is_new) {
      const trace::Lane& from = trace_.lanes[trace_lane];
      draft_.lanes.push_back(
          {LaneKind::kHost, trace_.rank,
           "r" + std::to_string(trace_.rank) + "/thread " + std::to_string(from.tid)});
      states_.resize(draft_.lanes.size());
      states_.back().trace_lane = trace_lane;
    }
    return it->second;
  }

  /// A collective follows the op that put it into the queue of its thread.
  void append_behind(DraftOp op, OpId launch, Nanos counted_to) {
    const auto id = static_cast<OpId>(draft_.ops.size());
    LaneState& mine = states_[op.lane];
    DraftOp& from = draft_.ops[launch];
    op.step = from.step;
    op.issued = from.start;
    // It may start before the call returns; the rest of the call is host work like any other.
    from.duration = std::clamp<Nanos>(op.start - from.start, 0, from.duration);
    op.host_events = counts_.between(mine.trace_lane, op.start, counted_to);
    draft_.edges.push_back({launch, id, EdgeKind::kLaunch, false});
    if (mine.last != kNoId) {
      make_room(draft_.ops[mine.last], op.start);
      draft_.edges.push_back({mine.last, id, EdgeKind::kOrder, false});
    }
    mine.before = mine.last;
    mine.last = id;
    queued_.emplace_back(id, launch);
    draft_.ops.push_back(op);
  }

  /// Adds the op behind what its thread did last, and behind another thread if that was what this
  /// one waited for: the last thing that ended elsewhere while this thread was idle.
  void append(DraftOp op, Nanos counted_to) {
    const auto id = static_cast<OpId>(draft_.ops.size());
    LaneState& mine = states_[op.lane];
    if (mine.last != kNoId) make_room(draft_.ops[mine.last], op.start);
    Nanos after = mine.last == kNoId ? op.start : draft_.ops[mine.last].end();
    OpId handed_over = kNoId;
    if (op.start - after > kThreadGap || mine.last == kNoId) {
      for (const LaneState& other : states_) {
        if (other.trace_lane == mine.trace_lane) continue;
        end_in_time(other, after, op.start);
        const OpId source = over_by(other, op.start);
        if (source == kNoId) continue;
        const Nanos end = draft_.ops[source].end();
        if (end <= op.start && (end > after || (mine.last == kNoId && handed_over == kNoId)) &&
            (end == op.start || !busy_.at(mine.trace_lane, end))) {
          handed_over = source;
          after = end;
        }
      }
    }
    op.host_events = counts_.between(mine.trace_lane, after, counted_to);
    if (handed_over != kNoId) {
      const std::uint32_t from = states_[draft_.ops[handed_over].lane].trace_lane;
      op.host_events += counts_.between(from, after, op.start);
      draft_.edges.push_back({handed_over, id, EdgeKind::kThread, true});
    }
    if (mine.last != kNoId) draft_.edges.push_back({mine.last, id, EdgeKind::kOrder, false});
    mine.before = mine.last;
    mine.last = id;
    draft_.ops.push_back(op);
  }

  /// A thread that was idle since `idle_from` goes on at `time`, a little before a collective on
  /// another one was recorded to be over: it was over by then.
  void end_in_time(const LaneState& thread, Nanos idle_from, Nanos time) {
    if (thread.last == kNoId) return;
    DraftOp& last = draft_.ops[thread.last];
    const Nanos late = last.end() - time;
    if (!last.communication || late <= 0 || late > kLateRecord) return;
    const Nanos waited = time - std::max(idle_from, last.start);
    if (waited > 4 * late) last.duration = time - last.start;
  }

  /// The last op of a thread; where that is work that still goes on at `time`, the one before.
  OpId over_by(const LaneState& thread, Nanos time) const {
    if (thread.last == kNoId || draft_.ops[thread.last].end() <= time) return thread.last;
    const DraftOp& last = draft_.ops[thread.last];
    return last.kind == OpKind::kHost && last.duration > 0 ? thread.before : thread.last;
  }

  /// A call made from within another (a launch inside a blocking copy, say) ends the outer one as
  /// far as the thread's order goes: times of a thread must add up.
  static void make_room(DraftOp& previous, Nanos next_start) {
    previous.start = std::min(previous.start, next_start);
    previous.duration = std::min(previous.duration, next_start - previous.start);
  }

  /// The return of a blocking call: follows the call; what it waited for is added with the waits.
  void append_return(DraftOp op, Nanos end) {
    const auto id = static_cast<OpId>(draft_.ops.size());
    op.kind = OpKind::kSync;
    op.start = end;
    op.duration = 0;
    op.host_events = 0;
    draft_.edges.push_back({id - 1, id, EdgeKind::kOrder, false});
    states_[op.lane].before = states_[op.lane].last;
    states_[op.lane].last = id;
    draft_.ops.push_back(op);
  }

  const RankTrace& trace_;
  const trace::Launches& launches_;
  const std::vector<bool>& is_communication_;
  RankDraft& draft_;
  EventCounts counts_;
  BusyThreads busy_;
  std::map<std::uint32_t, LaneId> lanes_;
  std::vector<LaneState> states_;              ///< by draft lane
  std::map<std::uint32_t, OpId> launch_of_;    ///< by event
  std::vector<std::pair<OpId, OpId>> queued_;  ///< collectives, and what put them into a queue
};

}  // namespace

void draft_host(const trace::RankTrace& trace, const trace::Launches& launches,
                const std::vector<bool>& is_communication, bool has_device, RankDraft& draft) {
  HostDraft host(trace, launches, is_communication, draft);
  for (const HostPoint& point : host_points(trace, launches, is_communication, has_device)) {
    host.add(point);
  }
  if (!has_device) host.wait_for_collectives();
}

}  // namespace weft::graph
