// SPDX-License-Identifier: Apache-2.0
#include "weft/graph/delays.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>

#include "weft/base/median.h"

namespace weft::graph {
namespace {

constexpr DiagnosticKind kContradictedWait{
    "contradicted-edge", Severity::kInfo,
    "a dependency that the conventions of the framework suggest, but the recorded times exclude; "
    "left out",
    "nothing to do"};
constexpr DiagnosticKind kOverlap{
    "overlapping-work", Severity::kInfo,
    "work of one stream or thread overlaps in the recording; its order was left open",
    "nothing to do"};

/// Times of one trace are good to about this much; a contradiction below it is noise.
constexpr Nanos kTolerance = 3 * kMicrosecond;
/// An edge that ended this much later than all others is alone in explaining its op's start.
constexpr Nanos kClearLead = 50 * kMicrosecond;

/// Which floor an edge takes: host edges, device work behind device work, work behind its launch.
enum Floor : std::size_t { kHostFloor, kStreamFloor, kLaunchFloor, kFloors };

Floor floor_of(const Graph& graph, const TimedEdge& edge) {
  if (edge.kind == EdgeKind::kLaunch) return kLaunchFloor;
  return graph.lanes[graph.ops.lane[edge.destination]].kind == LaneKind::kStream ? kStreamFloor
                                                                                 : kHostFloor;
}

}  // namespace

void set_delays(const Graph& graph, std::vector<TimedEdge>& edges, Diagnostics& diagnostics) {
  const Ops& ops = graph.ops;
  // An arrival that waits for its transfer is over at once; the kernel it was recorded as is not.
  const auto end = [&](OpId op) {
    const bool arrival = ops.kind[op] == OpKind::kArrive;
    return ops.recorded_start[op] + (arrival ? ops.duration[op] : ops.recorded_duration[op]);
  };
  const auto slack = [&](const TimedEdge& edge) {
    const bool arrival =
        edge.kind == EdgeKind::kCollective && ops.kind[edge.destination] == OpKind::kTransfer;
    return ops.recorded_start[edge.destination] -
           (arrival ? ops.recorded_start[edge.source] : end(edge.source));
  };
  std::int64_t contradicted = 0, overlapping = 0;
  std::vector<bool> has_source(graph.size());
  std::erase_if(edges, [&](const TimedEdge& edge) {
    const bool wrong = edge.source != 0 && slack(edge) < -kTolerance;
    if (wrong) ++(edge.inferred ? contradicted : overlapping);
    if (!wrong) has_source[edge.destination] = true;
    return wrong;
  });
  for (OpId op = 1; op < graph.size(); ++op) {
    if (!has_source[op]) edges.push_back({0, op, EdgeKind::kOrder, true, 0});
  }
  if (contradicted > 0) diagnostics.add(kContradictedWait, {}, contradicted);
  if (overlapping > 0) diagnostics.add(kOverlap, {}, overlapping);

  // The usual delay of each kind of edge, from the ops whose start only one edge can explain.
  std::vector<std::uint32_t> latest(graph.size(), kNoId), second(graph.size(), kNoId);
  for (std::uint32_t i = 0; i < edges.size(); ++i) {
    std::uint32_t& first = latest[edges[i].destination];
    std::uint32_t& next = second[edges[i].destination];
    if (first == kNoId || slack(edges[i]) < slack(edges[first])) {
      next = first;
      first = i;
    } else if (next == kNoId || slack(edges[i]) < slack(edges[next])) {
      next = i;
    }
  }
  std::array<std::vector<Nanos>, kFloors> seen;
  for (OpId op = 1; op < graph.size(); ++op) {
    if (latest[op] == kNoId || ops.kind[op] == OpKind::kTransfer) continue;
    const TimedEdge& edge = edges[latest[op]];
    const bool clear = second[op] == kNoId || slack(edges[second[op]]) - slack(edge) > kClearLead;
    if (clear) seen[floor_of(graph, edge)].push_back(std::max<Nanos>(0, slack(edge)));
  }
  std::array<Nanos, kFloors> floor{};
  for (const std::size_t f : {std::size_t{kStreamFloor}, std::size_t{kLaunchFloor}}) {
    floor[f] = median(seen[f]);
  }
  // The edge that explains each op's start: the last one to allow it, its usual delay included.
  const auto leeway = [&](const TimedEdge& edge) {
    return slack(edge) - floor[floor_of(graph, edge)];
  };
  std::vector<std::uint32_t> binding(graph.size(), kNoId);
  for (std::uint32_t i = 0; i < edges.size(); ++i) {
    std::uint32_t& best = binding[edges[i].destination];
    if (best == kNoId || leeway(edges[i]) < leeway(edges[best])) best = i;
  }
  for (std::uint32_t i = 0; i < edges.size(); ++i) {
    TimedEdge& edge = edges[i];
    const Nanos free = std::max<Nanos>(0, slack(edge));
    const bool transfer = ops.kind[edge.destination] == OpKind::kTransfer;
    const bool explains = binding[edge.destination] == i;
    edge.delay = explains ? free : transfer ? 0 : std::min(free, floor[floor_of(graph, edge)]);
  }
}

}  // namespace weft::graph
