// SPDX-License-Identifier: Apache-2.0
// Derives the delays of edges from the recorded times, in these steps:
//   1. Compute the slack of each edge. This is the recorded time from the end of the edge's source
//      to the start of its destination. Drop each edge whose slack is clearly negative (below
//      -kTolerance).
//   2. Learn the usual delay ("floor") of stream edges and of launch edges. This is the median
//      slack over the ops whose start only one edge can explain. The floor of stream edges is the
//      usual time from one kernel to the next. The floor of launch edges is the usual cost of a
//      launch. Host edges have the floor 0, because time between two host ops is work.
//   3. For each op, find the edge whose slack exceeds its floor by the least. This edge explains
//      the start of the op. Its delay is its whole slack, so a replay gives the recorded start.
//   4. Every other edge gets its floor as delay, but at most its slack. Such an edge does not
//      decide when its op starts in this recording, but it may do so in a what-if. Then the usual
//      delay is the best guess.
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
    "the framework's conventions suggest a dependency, but it contradicts the recorded times; this "
    "dependency was left out",
    "nothing to do"};
constexpr DiagnosticKind kOverlap{
    "overlapping-work", Severity::kInfo,
    "work on one stream or thread overlaps in the recording, so no order was assumed for it",
    "nothing to do"};

/// The error of the times within one trace is about this much. A smaller contradiction is noise.
constexpr Nanos kTolerance = 3 * kMicrosecond;
/// If the source of one edge ended this much later than the sources of all others, this edge alone
/// explains the start of its op.
constexpr Nanos kClearLead = 50 * kMicrosecond;

/// The kinds of usual delays (floors): of host edges, of device work behind other device work, and
/// of device work behind its launch.
enum Floor : std::size_t { kHostFloor, kStreamFloor, kLaunchFloor, kFloors };

Floor floor_of(const Graph& graph, const TimedEdge& edge) {
  if (edge.kind == EdgeKind::kLaunch) return kLaunchFloor;
  return graph.lanes[graph.ops.lane[edge.destination]].kind == LaneKind::kStream ? kStreamFloor
                                                                                 : kHostFloor;
}

}  // namespace

void set_delays(const Graph& graph, std::vector<TimedEdge>& edges, Diagnostics& diagnostics) {
  const Ops& ops = graph.ops;
  // An arrival that waits for its transfer has duration 0 in the graph, although its kernel was
  // recorded with a longer duration. An arrival that did not wait keeps its recorded duration.
  const auto end = [&](OpId op) {
    const bool arrival = ops.kind[op] == OpKind::kArrive;
    return ops.recorded_start[op] + (arrival ? ops.duration[op] : ops.recorded_duration[op]);
  };
  // A transfer may begin when its members have started. So the slack of an edge from an arrival to
  // its transfer counts from the start of the arrival.
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

  // latest[op] and second[op] are the edges into the op with the least and the second-least slack.
  // So the source of latest[op] ended last, and the source of second[op] ended just before it.
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
    // The usual delay is learned only from ops whose start one edge alone explains.
    const bool clear = second[op] == kNoId || slack(edges[second[op]]) - slack(edge) > kClearLead;
    if (clear) seen[floor_of(graph, edge)].push_back(std::max<Nanos>(0, slack(edge)));
  }
  std::array<Nanos, kFloors> floor{};
  for (const std::size_t f : {std::size_t{kStreamFloor}, std::size_t{kLaunchFloor}}) {
    floor[f] = median(seen[f]);
  }
  // With its usual delay, each edge allows the op to start at some time. The edge with the latest
  // such time explains the start.
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
