// SPDX-License-Identifier: Apache-2.0
// Makes the host part of a rank's draft. Only the points at which a thread interacts with something
// else become ops. These are calls that launch device work, calls that block, gradients that become
// ready, and marks between steps (host_points.h finds these points). The host work
// between two such points becomes the delay of the edge between them. A rank without device
// computes on its threads. On such a rank, every outermost framework op is an op of the graph, too,
// and host-side collectives (of gloo, for example) are ops of the threads that ran them.
//
// Points are handled in the order of time. Each point adds an op with these edges:
//   * order: behind the last op of its thread;
//   * launch: a queued collective follows the framework op that put it into its queue;
//   * thread (inferred): if the thread was idle before the point, it waited for another thread.
//     PyTorch's main thread, for example, starts the autograd thread and then waits for it. No
//     profiler records this, so it is concluded from the times: the thread waited for the op on
//     another thread that ended last while this thread was idle.
// At the end, the op that applies the gradients gets an edge from each queued collective.
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

/// A shorter gap on a thread than this is never a wait for another thread.
constexpr Nanos kThreadGap = 20 * kMicrosecond;
/// When a thread has finished a collective, it first wakes up the threads that wait for the
/// collective, and then records the end. The scheduler may run the other threads first. Then the
/// recorded end is late by a few time slices of the scheduler. It is late by at most this much.
constexpr Nanos kLateRecord = 20 * kMillisecond;
/// The name of the annotation that PyTorch writes around Optimizer.step() begins with this, as in
/// "Optimizer.step#SGD.step". The optimizer applies the gradients, so it waits for all of them.
constexpr std::string_view kOptimizerStep = "Optimizer.step#";

bool is_host_event(EventKind kind) {
  return kind == EventKind::kHostOp || kind == EventKind::kAnnotation ||
         kind == EventKind::kRuntime;
}

/// Counts the recorded host events of a lane within an interval of time.
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

/// Tells whether a framework op or runtime call runs on a lane at a given time. If one runs, the
/// thread is busy at this time and does not wait.
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
      // Ops nest, so an outer op may end after the ops inside it. Replace the end of each op by the
      // latest end of all ops that have begun so far. To find out whether any op covers a given
      // time, it is then enough to look at the last op that began before this time.
      Nanos latest = INT64_MIN;
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
      // The call op has length zero. Its return decides how long the call blocks, because it waits
      // for the device.
      op.kind = OpKind::kHost;
      append(op, point.end);
      append_return(op, point.end);
      return;
    }
    if (point.queue_wait > 0) {
      // The launch queue was full: first a blocking call that waits for room, then the launch.
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

  /// Adds edges from queued collectives to the op that applies the gradients. The collectives must
  /// be over before their thread applies the gradients, or before its next step if the recording
  /// does not show where it applies them. The recorded times show this wait only if the collectives
  /// were late. If compute hid them, the edge is still needed: in a what-if with a slower network
  /// they are exposed.
  void wait_for_collectives() {
    // Times at which each thread begins to apply gradients, ascending.
    std::map<std::uint32_t, std::vector<Nanos>> applied;
    const auto& e = trace_.events;
    for (std::uint32_t i = 0; i < e.size() && !queued_.empty(); ++i) {
      if (e.kind[i] == EventKind::kAnnotation &&
          trace_.names.text(e.name[i]).starts_with(kOptimizerStep)) {
        applied[e.lane[i]].push_back(e.start[i]);
      }
    }
    for (auto& [lane, times] : applied) std::sort(times.begin(), times.end());
    // The ops of each thread. Points were handled in the order of time, so ids ascend with time.
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
    OpId last = kNoId, before = kNoId;  ///< the thread's last op, and the op before that one
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

  /// Adds a collective that another thread had put into the queue of this thread. The collective
  /// follows the op that did so (`launch`), and the collective before it on its own thread.
  void append_behind(DraftOp op, OpId launch, Nanos counted_to) {
    const auto id = static_cast<OpId>(draft_.ops.size());
    LaneState& mine = states_[op.lane];
    DraftOp& from = draft_.ops[launch];
    op.step = from.step;
    op.issued = from.start;
    // The collective may start before `launch` returns. Then the launch op ends at this start. The
    // rest of it becomes part of the delay to the next op of its thread.
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

  /// Adds the op behind the last op of its thread. If the thread was idle before, adds another
  /// edge: from the op on another thread that ended last during that time, because the thread
  /// waited for it. Host events are counted up to `counted_to`.
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
        // The end of the other op must lie in the idle time. It must not lie within a framework op
        // of this thread, because then the thread was busy. For the first op of a thread, any
        // earlier end is accepted.
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

  /// Corrects a late record (see kLateRecord). Another thread was idle since `idle_from` and
  /// continues at `time`. The last op of `thread` may be a collective whose recorded end is a
  /// little later than `time`. Then the idle thread waited for this collective, and the collective
  /// was in fact over at `time`. So its op is cut off at `time`. The end is only a little later if
  /// the wait for the collective was more than four times as long as the record is late.
  void end_in_time(const LaneState& thread, Nanos idle_from, Nanos time) {
    if (thread.last == kNoId) return;
    DraftOp& last = draft_.ops[thread.last];
    const Nanos late = last.end() - time;
    if (!last.communication || late <= 0 || late > kLateRecord) return;
    const Nanos waited = time - std::max(idle_from, last.start);
    if (waited > 4 * late) last.duration = time - last.start;
  }

  /// Returns the last op of a thread. If this op is work that still runs at `time`, returns the op
  /// before it.
  OpId over_by(const LaneState& thread, Nanos time) const {
    if (thread.last == kNoId || draft_.ops[thread.last].end() <= time) return thread.last;
    const DraftOp& last = draft_.ops[thread.last];
    return last.kind == OpKind::kHost && last.duration > 0 ? thread.before : thread.last;
  }

  /// Calls may nest: a launch inside a blocking copy, for example. But the ops of a thread are a
  /// sequence without overlap. So the outer call ends where the inner one starts.
  static void make_room(DraftOp& previous, Nanos next_start) {
    previous.start = std::min(previous.start, next_start);
    previous.duration = std::min(previous.duration, next_start - previous.start);
  }

  /// Adds the return of a blocking call as an op behind the call. draft_waits() adds the edge from
  /// the device work for which the call waited.
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
  std::map<std::uint32_t, LaneId> lanes_;      ///< lanes_[trace lane]: the lane of the draft
  std::vector<LaneState> states_;              ///< one entry for each lane of the draft
  std::map<std::uint32_t, OpId> launch_of_;    ///< launch_of_[event of a call]: its launch op
  std::vector<std::pair<OpId, OpId>> queued_;  ///< each collective with the op that queued it
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
