// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "weft/cost/profiler_overhead.h"
#include "weft/graph/names.h"

namespace weft::cost {
namespace {

/// Of the times one piece of host work took, this quantile counts as undisturbed: the least is luck
/// where there are many.
constexpr double kUndisturbed = 0.1;
/// A shortage of processors stretches short pieces of work; one this long is the rank's own (it
/// loads data, or sleeps).
constexpr Nanos kLongestDisturbed = 5 * kMillisecond;

/// The edge whose delay is the host work before `op`, if there is any.
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
  // Threads of different ranks play the same part if they are equally busy.
  std::map<std::int32_t, std::vector<std::pair<std::size_t, graph::LaneId>>> threads;
  std::vector<std::size_t> ops_of_lane(graph.lanes.size());
  for (graph::OpId op = 0; op < graph.size(); ++op) ++ops_of_lane[graph.ops.lane[op]];
  for (graph::LaneId lane = 0; lane < graph.lanes.size(); ++lane) {
    if (graph.lanes[lane].kind == graph::LaneKind::kHost && graph.lanes[lane].rank >= 0) {
      threads[graph.lanes[lane].rank].emplace_back(ops_of_lane[lane], lane);
    }
  }
  std::vector<std::size_t> part(graph.lanes.size());
  for (auto& [rank, list] : threads) {
    std::sort(list.rbegin(), list.rend());
    for (std::size_t i = 0; i < list.size(); ++i) part[list[i].second] = i;
  }
  // A call is known by what it launches: ranks of a pipeline make the same calls for other work.
  std::vector<NameId> does(graph.ops.name);
  for (graph::OpId op = 0; op < graph.size(); ++op) {
    for (const graph::Edge& edge : graph.in_edges(op)) {
      if (edge.kind == graph::EdgeKind::kLaunch) does[edge.source] = graph.ops.name[op];
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
    if (graph::is_queue_wait(graph, op)) continue;
    const std::uint32_t index = position[{lane, graph.ops.step[op]}]++;
    twins[{part[lane], index, does[op]}].push_back({op, host_work(graph, op)});
  }
  const auto total = [&](const Work& work) {
    return graph.ops.duration[work.op] +
           (work.before == graph::kNoId ? 0 : graph.edges[work.before].delay);
  };
  for (const auto& [key, list] : twins) {
    std::vector<Nanos> times;
    for (const Work& work : list) times.push_back(total(work));
    std::sort(times.begin(), times.end());
    const double place = kUndisturbed * static_cast<double>(times.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const std::size_t above = std::min(below + 1, times.size() - 1);
    const Nanos usual =
        times[below] + static_cast<Nanos>((place - static_cast<double>(below)) *
                                          static_cast<double>(times[above] - times[below]));
    for (const Work& work : list) {
      Nanos cut = total(work) - usual;
      if (cut <= 0 || total(work) > kLongestDisturbed) continue;
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
