// SPDX-License-Identifier: Apache-2.0
// Host threads. Only the points where a thread touches the world outside it become ops: calls that
// launch device work, calls that block, gradients that become ready, and the marks between steps.
// What lies between two of them is host work and ends up as the delay of the edge between them.
// A rank without device computes on its threads: there every outermost framework op is work too,
// and host-side collectives (gloo, say) run on threads of their own.
#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <tuple>

#include "weft/base/sort_runs.h"
#include "weft/graph/names.h"
#include "weft/graph/rank_draft.h"
#include "weft/trace/steps.h"

namespace weft::graph {
namespace {

using trace::EventKind;
using trace::RankTrace;

constexpr std::string_view kQueueFull = "Command Buffer Full";
/// Shorter gaps on a thread are never taken for waiting for another thread.
constexpr Nanos kThreadGap = 20 * kMicrosecond;
/// No call takes this long by itself; if it ends as device work does, it waited for that work.
constexpr Nanos kLongCall = 300 * kMicrosecond;
constexpr Nanos kEndsTogether = 30 * kMicrosecond;
constexpr Nanos kOwnTimeOfLaunch = 10 * kMicrosecond;
/// A full launch queue holds a call for at least this long; below it is noise.
constexpr Nanos kShortestQueueWait = 20 * kMicrosecond;

bool is_blocking(std::string_view call) {
  constexpr std::array<std::string_view, 10> kCalls = {
      "cudaDeviceSynchronize", "cudaStreamSynchronize",
      "cudaEventSynchronize",  "cuStreamSynchronize",
      "cuCtxSynchronize",      "cuEventSynchronize",
      "hipDeviceSynchronize",  "hipStreamSynchronize",
      "hipEventSynchronize",   "cudaFree"};
  // What readers write where the recording has no calls of a device.
  return call == "synchronize" || std::find(kCalls.begin(), kCalls.end(), call) != kCalls.end();
}

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

/// Sorted, disjoint stretches of time.
class Intervals {
 public:
  void add(Nanos start, Nanos end) { list_.emplace_back(start, end); }
  void sort() { std::sort(list_.begin(), list_.end()); }
  Nanos overlap(Nanos start, Nanos end) const {
    auto it = std::upper_bound(list_.begin(), list_.end(), std::pair{start, INT64_MAX});
    if (it != list_.begin()) --it;
    Nanos sum = 0;
    for (; it != list_.end() && it->first < end; ++it) {
      sum += std::max<Nanos>(0, std::min(end, it->second) - std::max(start, it->first));
    }
    return std::min(sum, end - start);
  }

 private:
  std::vector<std::pair<Nanos, Nanos>> list_;
};

/// A point on a thread, before it becomes one or two ops.
struct Point {
  enum class Kind : std::uint8_t { kStep, kGradient, kBlocking, kLaunch, kWork } kind;
  std::uint32_t lane;  ///< of the trace
  Nanos start, end;
  std::uint32_t event;  ///< kNoId for step marks
  Nanos queue_wait = 0;
};

std::vector<Point> find_points(const RankTrace& trace, const trace::Launches& launches) {
  const auto& e = trace.events;
  std::vector<bool> launches_work(e.size());
  for (const std::uint32_t call : launches.launcher) {
    if (call != trace::kNone) launches_work[call] = true;
  }
  Intervals queue_full;
  for (std::size_t i = 0; i < e.size(); ++i) {
    if (e.kind[i] == EventKind::kOverhead && trace.names.text(e.name[i]) == kQueueFull) {
      queue_full.add(e.start[i], e.end(i));
    }
  }
  queue_full.sort();

  // Behind AccumulateGrad, but in the same step of the autograd engine, DDP may scale the gradient;
  // only then it is ready. Per engine step: the end of the last call that launched such work.
  std::vector<Nanos> scaled(e.size(), INT64_MIN);
  for (std::uint32_t i = 0; i < e.size(); ++i) {
    if (!launches_work[i]) continue;
    for (std::uint32_t p = launches.parent[i]; p != trace::kNone; p = launches.parent[p]) {
      const std::string_view name = trace.names.text(e.name[p]);
      if (name.starts_with("nccl:") || name.starts_with("c10d::")) break;
      if (name.starts_with("autograd::engine::")) {
        scaled[p] = std::max(scaled[p], e.end(i));
        break;
      }
    }
  }

  std::vector<Nanos> device_ends;
  for (std::uint32_t i = 0; i < e.size(); ++i) {
    if (launches.launcher[i] != trace::kNone) device_ends.push_back(e.end(i));
  }
  std::sort(device_ends.begin(), device_ends.end());
  const auto waits_for_device = [&](std::uint32_t call) {
    if (e.duration[call] < kLongCall) return false;
    const auto after =
        std::upper_bound(device_ends.begin(), device_ends.end(), e.end(call) + kEndsTogether / 10);
    return after != device_ends.begin() && *std::prev(after) >= e.end(call) - kEndsTogether;
  };

  std::vector<Point> points;
  for (std::uint32_t i = 0; i < e.size(); ++i) {
    const std::string_view name = trace.names.text(e.name[i]);
    if (e.kind[i] == EventKind::kRuntime) {
      const bool blocks = is_blocking(name) || (!launches_work[i] && waits_for_device(i));
      if (!blocks && !launches_work[i]) continue;
      Point point{blocks ? Point::Kind::kBlocking : Point::Kind::kLaunch, e.lane[i], e.start[i],
                  e.end(i), i};
      Nanos wait = queue_full.overlap(point.start, point.end);
      // Older recordings do not say that the queue was full.
      if (wait == 0 && !blocks && waits_for_device(i)) wait = e.duration[i] - kOwnTimeOfLaunch;
      if (wait >= kShortestQueueWait && !blocks) point.queue_wait = wait;
      points.push_back(point);
    } else if (e.kind[i] == EventKind::kHostOp && name == kGradientReady) {
      const std::uint32_t around = launches.parent[i];
      const Nanos over = std::max(e.end(i), around == trace::kNone ? INT64_MIN : scaled[around]);
      points.push_back({Point::Kind::kGradient, e.lane[i], over, over, i});
    }
  }
  for (const trace::StepMark& mark : trace.steps) {
    points.push_back({Point::Kind::kStep, mark.lane, mark.start, mark.start, kNoId});
  }
  if (!trace.steps.empty()) {
    const trace::StepMark& last = trace.steps.back();
    points.push_back({Point::Kind::kStep, last.lane, last.end, last.end, kNoId});
  }
  return points;
}

/// The work of a rank without device: collectives, and outermost framework ops without the points
/// within them, at which other threads may take over.
void find_host_work(const RankTrace& trace, const std::vector<bool>& is_communication,
                    std::vector<Point>& points) {
  const auto& e = trace.events;
  std::vector<std::vector<std::pair<Nanos, Nanos>>> cuts(trace.lanes.size());
  for (const Point& point : points) cuts[point.lane].emplace_back(point.start, point.end);
  for (auto& lane : cuts) std::sort(lane.begin(), lane.end());
  std::vector<std::uint32_t> order;
  for (std::uint32_t i = 0; i < e.size(); ++i) {
    const bool is_op = e.kind[i] == EventKind::kHostOp;
    // A gradient is one op, found before.
    if (is_op && trace.names.text(e.name[i]) == kGradientReady) continue;
    if (is_op || is_communication[i]) order.push_back(i);
  }
  sort_runs(order, [&](std::uint32_t a, std::uint32_t b) {
    return std::tuple{e.start[a], -e.duration[a], a} < std::tuple{e.start[b], -e.duration[b], b};
  });
  std::vector<Nanos> reached(trace.lanes.size(), INT64_MIN);
  for (const std::uint32_t i : order) {
    const std::uint32_t lane = e.lane[i];
    if (e.start[i] < reached[lane]) continue;
    reached[lane] = e.end(i);
    Nanos from = e.start[i];
    if (!is_communication[i]) {
      const auto& lane_cuts = cuts[lane];
      auto cut = std::lower_bound(lane_cuts.begin(), lane_cuts.end(), std::pair{from, Nanos{0}});
      for (; cut != lane_cuts.end() && cut->first < e.end(i); ++cut) {
        if (cut->first > from) points.push_back({Point::Kind::kWork, lane, from, cut->first, i});
        from = std::max(from, cut->second);
      }
    }
    if (from < e.end(i)) points.push_back({Point::Kind::kWork, lane, from, e.end(i), i});
  }
}

/// A step begins before the first call in it, also where both have the same time; work goes on
/// behind what cut it.
void sort_by_time(std::vector<Point>& points) {
  const auto key = [](const Point& p) {
    const int order = p.kind == Point::Kind::kStep ? 0 : p.kind == Point::Kind::kWork ? 2 : 1;
    return std::pair{p.start, order};
  };
  std::stable_sort(points.begin(), points.end(),
                   [&](const Point& a, const Point& b) { return key(a) < key(b); });
}

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
  HostDraft(const RankTrace& trace, const std::vector<bool>& is_communication, RankDraft& draft)
      : trace_(trace),
        is_communication_(is_communication),
        draft_(draft),
        counts_(trace),
        busy_(trace) {}

  void add(const Point& point) {
    const auto& e = trace_.events;
    DraftOp op;
    op.lane = lane(point.lane);
    op.step = trace::step_at(trace_, point.start);
    op.start = point.start;
    op.event = point.event;
    if (point.kind == Point::Kind::kStep) {
      op.kind = OpKind::kHost;
      op.name = kStepMark;
      append(op, point.end);
      return;
    }
    op.name = trace_.names.text(e.name[point.event]);
    if (point.kind == Point::Kind::kGradient) {
      op.kind = OpKind::kHost;
      const std::uint32_t detail = e.detail[point.event];
      if (detail != trace::kNone) op.bytes = trace_.host_ops[detail].input_bytes;
      append(op, point.end);
      return;
    }
    if (point.kind == Point::Kind::kWork) {
      op.kind = OpKind::kHost;
      op.duration = point.end - point.start;
      op.communication = is_communication_[point.event];
      if (op.communication) {
        draft_.op_of_event[point.event] = static_cast<OpId>(draft_.ops.size());
      }
      append(op, point.end);
      return;
    }
    if (point.kind == Point::Kind::kBlocking) {
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
    append(op, point.end);
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
        const OpId source = over_by(other, op.start);
        if (source == kNoId || other.trace_lane == mine.trace_lane) continue;
        const Nanos end = draft_.ops[source].end();
        if (end <= op.start && (end > after || (mine.last == kNoId && handed_over == kNoId)) &&
            !busy_.at(mine.trace_lane, end)) {
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
  const std::vector<bool>& is_communication_;
  RankDraft& draft_;
  EventCounts counts_;
  BusyThreads busy_;
  std::map<std::uint32_t, LaneId> lanes_;
  std::vector<LaneState> states_;  ///< by draft lane
};

}  // namespace

void draft_host(const trace::RankTrace& trace, const trace::Launches& launches,
                const std::vector<bool>& is_communication, bool has_device, RankDraft& draft) {
  std::vector<Point> points = find_points(trace, launches);
  if (!has_device) find_host_work(trace, is_communication, points);
  sort_by_time(points);
  HostDraft host(trace, is_communication, draft);
  for (const Point& point : points) host.add(point);
}

}  // namespace weft::graph
