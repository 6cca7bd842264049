// SPDX-License-Identifier: Apache-2.0
// Removes from host work the time for which communication used the processor. The recording does
// not show this time, so it is estimated by comparison. Every op of a host thread, together with
// the host work before it, gets a key. The key says on which thread the op is, which position it
// has among the ops of that thread in the step, and what it launches. Ops with the same key are
// called twins. They do the same work in different steps, or on different ranks that run the same
// program. If a rank computes on the processors of its host, its host work is the work of the
// model. Other ranks may have less of it, so its twins are only those of its own steps. A low
// quantile of the twins' times is taken as the undisturbed time. Every longer twin is shortened to
// this time.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "weft/cost/profiler_overhead.h"
#include "weft/graph/names.h"

namespace weft::cost {
namespace {

/// The twins of a piece of host work are the same piece in other steps and on other ranks. The
/// undisturbed time is this quantile of the times of all twins. The minimum of many twins would be
/// an outlier and too low. docs/design/prediction.md shows how the value was chosen.
constexpr double kUndisturbed = 0.1;
/// If processors are short, short pieces of work become longer. A piece that takes longer than this
/// is real work of the rank (it loads data, or sleeps) and is not changed.
constexpr Nanos kLongestDisturbed = 5 * kMillisecond;

/// Returns the in-edge whose delay is the host work before `op`. This is the edge with the longest
/// delay. Skips kHostSync edges, because they are waits for the device. Returns kNoId if there is
/// no such edge.
graph::EdgeId host_work(const graph::Graph& graph, graph::OpId op) {
  graph::EdgeId longest = graph::kNoId;
  for (graph::EdgeId e = graph.first_edge[op]; e < graph.first_edge[op + 1]; ++e) {
    if (graph.edges[e].kind == graph::EdgeKind::kHostSync) continue;
    if (longest == graph::kNoId || graph.edges[e].delay > graph.edges[longest].delay) longest = e;
  }
  return longest;
}

}  // namespace

void remove_host_disturbances(graph::Graph& graph) {
  // A thread id means nothing in another process. So threads of different ranks are compared by how
  // busy they are. The busiest threads of all ranks count as the same thread of the program. The
  // second busiest threads of all ranks count as another thread, and so on.
  std::map<std::int32_t, std::vector<std::pair<std::size_t, graph::LaneId>>> threads;
  std::set<std::int32_t> with_device;
  for (const graph::Lane& lane : graph.lanes) {
    if (lane.kind == graph::LaneKind::kStream) with_device.insert(lane.rank);
  }
  std::vector<std::size_t> ops_of_lane(graph.lanes.size());
  for (graph::OpId op = 0; op < graph.size(); ++op) ++ops_of_lane[graph.ops.lane[op]];
  for (graph::LaneId lane = 0; lane < graph.lanes.size(); ++lane) {
    if (graph.lanes[lane].kind == graph::LaneKind::kHost && graph.lanes[lane].rank >= 0) {
      threads[graph.lanes[lane].rank].emplace_back(ops_of_lane[lane], lane);
    }
  }
  std::vector<std::size_t> place_by_load(graph.lanes.size());
  for (auto& [rank, list] : threads) {
    std::sort(list.rbegin(), list.rend());
    for (std::size_t i = 0; i < list.size(); ++i) place_by_load[list[i].second] = i;
  }
  // In the key of a launch, the name is the name of the kernel, not of the runtime call. The ranks
  // of a pipeline make the same calls for different kernels, and these calls must not become twins.
  std::vector<NameId> work_name(graph.ops.name);
  for (graph::OpId op = 0; op < graph.size(); ++op) {
    for (const graph::Edge& edge : graph.in_edges(op)) {
      if (edge.kind == graph::EdgeKind::kLaunch) work_name[edge.source] = graph.ops.name[op];
    }
  }
  struct Work {
    graph::OpId op;
    graph::EdgeId before;
  };
  std::map<std::pair<graph::LaneId, std::int32_t>, std::uint32_t> position;
  std::map<std::tuple<std::int32_t, std::size_t, std::uint32_t, NameId>, std::vector<Work>> twins;
  for (graph::OpId op = 0; op < graph.size(); ++op) {
    const graph::LaneId lane = graph.ops.lane[op];
    if (graph.lanes[lane].kind != graph::LaneKind::kHost || graph.ops.step[op] < 0) continue;
    // A wait for a full launch queue depends on the device, not on the processors of the host.
    if (graph::is_queue_wait(graph, op)) continue;
    const std::uint32_t index = position[{lane, graph.ops.step[op]}]++;
    const std::int32_t rank = graph.rank(op);
    twins[{with_device.contains(rank) ? -1 : rank, place_by_load[lane], index, work_name[op]}]
        .push_back({op, host_work(graph, op)});
  }
  const auto total = [&](const Work& work) {
    return graph.ops.duration[work.op] +
           (work.before == graph::kNoId ? 0 : graph.edges[work.before].delay);
  };
  for (const auto& [key, list] : twins) {
    std::vector<Nanos> times;
    for (const Work& work : list) times.push_back(total(work));
    std::sort(times.begin(), times.end());
    // Interpolate the quantile. With few twins, the nearest value would be the minimum.
    const double place = kUndisturbed * static_cast<double>(times.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const std::size_t above = std::min(below + 1, times.size() - 1);
    const Nanos usual =
        times[below] + static_cast<Nanos>((place - static_cast<double>(below)) *
                                          static_cast<double>(times[above] - times[below]));
    for (const Work& work : list) {
      Nanos cut = total(work) - usual;
      if (cut <= 0 || total(work) > kLongestDisturbed) continue;
      // Shorten the work before the op first and then the op itself, as for profiler overhead.
      if (work.before != graph::kNoId) {
        Nanos& delay = graph.edges[work.before].delay;
        const Nanos from_gap = std::min(delay, cut);
        delay -= from_gap;
        cut -= from_gap;
      }
      graph.ops.duration[work.op] -= cut;
    }
  }
}

}  // namespace weft::cost
