// SPDX-License-Identifier: Apache-2.0
// Removes from host work the time that communication took from its processor. There is no direct
// record of that time, so it is estimated by comparison. Every op of a host thread, together with
// the host work before it, gets a key: which thread it is on, its position among the ops of that
// thread in the step, and what it launches. Ops with one key ("twins") do the same work, in another
// step or on another rank that runs the same program. A low quantile of the twins' times is taken
// as the undisturbed time, and every longer twin is cut down to it.
#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "weft/cost/profiler_overhead.h"
#include "weft/graph/names.h"

namespace weft::cost {
namespace {

/// This quantile of the twins' times counts as undisturbed. The minimum would be too low: among
/// many twins it is an outlier. docs/design/prediction.md shows how the value was chosen.
constexpr double kUndisturbed = 0.1;
/// A shortage of processors stretches pieces of work that are short by themselves. A longer piece
/// is work of the rank (it loads data, or sleeps) and is left alone.
constexpr Nanos kLongestDisturbed = 5 * kMillisecond;

/// The in-edge whose delay is the host work before `op`: the one with the longest delay. kNoId if
/// the op has no such edge. A kHostSync edge is a wait for the device, not host work, so it is
/// skipped.
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
  // Thread ids mean nothing across processes. So the busiest threads of all ranks are taken for the
  // same thread of the program, likewise the second busiest ones, and so on.
  std::map<std::int32_t, std::vector<std::pair<std::size_t, graph::LaneId>>> threads;
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
  // A launch is named after the kernel it launches, not after the runtime call: the ranks of a
  // pipeline make the same calls for different kernels and must not become twins.
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
  std::map<std::tuple<std::size_t, std::uint32_t, NameId>, std::vector<Work>> twins;
  for (graph::OpId op = 0; op < graph.size(); ++op) {
    const graph::LaneId lane = graph.ops.lane[op];
    if (graph.lanes[lane].kind != graph::LaneKind::kHost || graph.ops.step[op] < 0) continue;
    // A wait for a full launch queue depends on the device, not on the processors of the host.
    if (graph::is_queue_wait(graph, op)) continue;
    const std::uint32_t index = position[{lane, graph.ops.step[op]}]++;
    twins[{place_by_load[lane], index, work_name[op]}].push_back({op, host_work(graph, op)});
  }
  const auto total = [&](const Work& work) {
    return graph.ops.duration[work.op] +
           (work.before == graph::kNoId ? 0 : graph.edges[work.before].delay);
  };
  for (const auto& [key, list] : twins) {
    std::vector<Nanos> times;
    for (const Work& work : list) times.push_back(total(work));
    std::sort(times.begin(), times.end());
    // Interpolated quantile: with few twins the nearest value would be the minimum again.
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
