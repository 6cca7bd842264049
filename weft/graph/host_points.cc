// SPDX-License-Identifier: Apache-2.0
#include "weft/graph/host_points.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <tuple>

#include "weft/base/sort_runs.h"
#include "weft/graph/graph.h"
#include "weft/graph/names.h"

namespace weft::graph {
namespace {

using trace::EventKind;
using trace::RankTrace;
using Point = HostPoint;

/// CUPTI's name for the time for which a launch waits because the launch queue is full.
constexpr std::string_view kQueueFull = "Command Buffer Full";
/// No runtime call takes this long by itself. If a longer call ends at the same time as device
/// work, it waited for that work.
constexpr Nanos kLongCall = 300 * kMicrosecond;
/// A call and device work end at the same time if the work ended at most this much before the call.
constexpr Nanos kEndsTogether = 30 * kMicrosecond;
/// The part of a long launch call that is the launch itself. The rest is a wait for the queue.
constexpr Nanos kOwnTimeOfLaunch = 10 * kMicrosecond;
/// A full launch queue delays a call for at least this long. A shorter delay is noise.
constexpr Nanos kShortestQueueWait = 20 * kMicrosecond;

bool is_blocking(std::string_view call) {
  constexpr std::array<std::string_view, 14> kCalls = {
      "cudaDeviceSynchronize", "cudaStreamSynchronize",
      "cudaEventSynchronize",  "cuStreamSynchronize",
      "cuCtxSynchronize",      "cuEventSynchronize",
      "hipDeviceSynchronize",  "hipStreamSynchronize",
      "hipEventSynchronize",   "cudaFree",
      "MXNDArrayWaitAll",      "MXNDArrayWaitToRead",
      "MXNDArrayWaitToWrite",  "MXNDArraySyncCopyToCPU"};
  // Readers write "synchronize" for a wait that the recording shows without a runtime call.
  return call == "synchronize" || std::find(kCalls.begin(), kCalls.end(), call) != kCalls.end();
}

/// Disjoint intervals of time. Call sort() between the last add() and the first overlap().
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

  // After AccumulateGrad, DDP's hook may scale the gradient in the same autograd::engine::...
  // range. Then the gradient is ready only after that. `scaled` has one entry per engine range: the
  // end of the last call in it that launched such work. Launches of collectives (nccl:, c10d::) do
  // not count.
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

  // A long call waits for the device if some device work ended just before the call did.
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
      // Older profilers do not record that the queue was full. In their traces, a long launch that
      // ends together with device work is such a wait.
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

/// Finds framework ops that put a collective into the queue of another thread. They count as
/// launches.
void find_enqueues(const RankTrace& trace, const trace::Launches& launches,
                   std::vector<Point>& points) {
  const auto& e = trace.events;
  for (std::uint32_t i = 0; i < e.size(); ++i) {
    const std::uint32_t call = launches.launcher[i];
    if (call == trace::kNone || e.kind[call] != EventKind::kHostOp) continue;
    points.push_back({Point::Kind::kLaunch, e.lane[call], e.start[call], e.end(call), call});
  }
}

/// Finds the work of a rank without device: collectives and outermost framework ops. An op is cut
/// at each point inside it, because other threads may take over there. Each piece is a point.
void find_host_work(const RankTrace& trace, const std::vector<bool>& is_communication,
                    std::vector<Point>& points) {
  const auto& e = trace.events;
  std::vector<std::vector<std::pair<Nanos, Nanos>>> cuts(trace.lanes.size());
  for (const Point& point : points) cuts[point.lane].emplace_back(point.start, point.end);
  for (auto& lane : cuts) std::sort(lane.begin(), lane.end());
  std::vector<std::uint32_t> order;
  for (std::uint32_t i = 0; i < e.size(); ++i) {
    const bool is_op = e.kind[i] == EventKind::kHostOp;
    // find_points() has added a point for each gradient.
    if (is_op && trace.names.text(e.name[i]) == kGradientReady) continue;
    if (is_op || is_communication[i]) order.push_back(i);
  }
  sort_runs(order, [&](std::uint32_t a, std::uint32_t b) {
    return std::tuple{e.start[a], -e.duration[a], a} < std::tuple{e.start[b], -e.duration[b], b};
  });
  // If two ops start at the same time, the outer op comes first. So an op is inside the last
  // outermost op of its lane if it begins before the end of that op.
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

/// Sorts points by time. Of points at the same time, step marks come first, so that a step begins
/// before its first call. Work comes last, because a piece of work continues behind the point that
/// cut it.
void sort_by_time(std::vector<Point>& points) {
  const auto key = [](const Point& p) {
    const int order = p.kind == Point::Kind::kStep ? 0 : p.kind == Point::Kind::kWork ? 2 : 1;
    return std::pair{p.start, order};
  };
  std::stable_sort(points.begin(), points.end(),
                   [&](const Point& a, const Point& b) { return key(a) < key(b); });
}

}  // namespace

std::vector<HostPoint> host_points(const RankTrace& trace, const trace::Launches& launches,
                                   const std::vector<bool>& is_communication, bool has_device) {
  std::vector<Point> points = find_points(trace, launches);
  if (!has_device) {
    find_enqueues(trace, launches, points);
    find_host_work(trace, is_communication, points);
  }
  sort_by_time(points);
  return points;
}

}  // namespace weft::graph
