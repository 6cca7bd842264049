// SPDX-License-Identifier: Apache-2.0
// Chooses the part of the timeline that shows a finding. Finding::removal is the edit of the graph
// that would remove the finding: shorter ops, shorter delays and removed edges. find_view() takes
// the op with the largest reduction, or the pause before it. A transfer has no recorded span, so
// for a transfer find_view() takes the arrival of a rank at the same collective. Then find_view()
// adds room before and after the op.
#include "weft/report/page/finding_view.h"

#include <algorithm>

namespace weft::report {
namespace {

using graph::Graph;
using graph::kNoId;
using graph::OpId;

/// The view covers at least 1/16 of the step. In a narrower view a short op would fill the screen,
/// and the reader would not see what surrounds it.
constexpr Nanos kLeastShare = 16;

/// The op at which an edge ends. Edges are sorted by destination, so a binary search finds this op.
OpId destination(const Graph& graph, graph::EdgeId edge) {
  const auto next = std::upper_bound(graph.first_edge.begin(), graph.first_edge.end(), edge);
  return static_cast<OpId>(next - graph.first_edge.begin() - 1);
}

/// The op that the page shows for `op`. A transfer belongs to no rank and has no span, so the page
/// shows the arrival of `rank` at the same collective. For any other op, the result is the op
/// itself, or kNoId if it runs on another rank than `rank`. A negative `rank` means any rank.
OpId on_rank(const Graph& graph, OpId op, std::int32_t rank) {
  if (graph.rank(op) >= 0) return rank < 0 || graph.rank(op) == rank ? op : kNoId;
  const std::uint32_t c = graph.ops.collective[op];
  if (c == kNoId) return kNoId;
  for (const OpId arrival : graph.collectives[c].arrivals) {
    if (rank < 0 || graph.rank(arrival) == rank) return arrival;
  }
  return kNoId;
}

/// What loses most time: an op, or the pause of this length before it.
struct Worst {
  OpId op = kNoId;
  Nanos pause = 0;
};

Worst worst_op(const Graph& graph, const diagnose::Finding& finding) {
  Worst worst;
  Nanos most = 0;
  const auto offer = [&](OpId op, Nanos lost, Nanos pause = 0) {
    const OpId shown = on_rank(graph, op, finding.rank);
    if (shown == kNoId || lost <= most || graph.ops.recorded_start[shown] < 0) return;
    if (finding.step >= 0 && graph.ops.step[op] != finding.step) return;
    most = lost;
    worst = {shown, pause};
  };
  const diagnose::Removal& removal = finding.removal;
  for (const auto& [op, left] : removal.durations) offer(op, graph.ops.duration[op] - left);
  for (const auto& [edge, left] : removal.delays) {
    const Nanos delay = graph.edges[edge].delay;
    offer(destination(graph, edge), delay - left, delay);
  }
  // How much time a removed edge costs is unknown without a replay, so each removed edge counts as
  // 1 ns. The op at which such an edge ends is therefore the result only if the removal shortens no
  // op and no delay.
  for (const graph::EdgeId edge : removal.removed_edges) offer(destination(graph, edge), 1);
  return worst;
}

/// The time from the first recorded start to the last recorded end in the step. If `rank` is
/// negative, ops of all ranks count, else only ops of this rank.
FindingView whole_step(const Graph& graph, std::int64_t step, std::int32_t rank) {
  FindingView view;
  for (OpId op = 0; op < graph.size(); ++op) {
    if (graph.ops.step[op] != step || graph.ops.recorded_start[op] < 0) continue;
    if (rank >= 0 && graph.rank(op) != rank) continue;
    const Nanos start = graph.ops.recorded_start[op];
    view.start = view.start < 0 ? start : std::min(view.start, start);
    view.end = std::max(view.end, start + graph.ops.recorded_duration[op]);
  }
  return view;
}

}  // namespace

FindingView find_view(const predict::Job& job, const diagnose::Finding& finding) {
  const Graph& graph = job.graph;
  const auto [op, pause] = worst_op(graph, finding);
  if (op == kNoId) {
    return finding.step < 0 ? FindingView{} : whole_step(graph, finding.step, finding.rank);
  }
  const FindingView step = whole_step(graph, graph.ops.step[op], graph.rank(op));
  const Nanos begin = graph.ops.recorded_start[op];
  const Nanos start = std::max<Nanos>(0, begin - pause);
  const Nanos length =
      pause > 0 ? begin - start : std::max<Nanos>(0, graph.ops.recorded_duration[op]);
  const Nanos least = (step.end - step.start) / kLeastShare;
  const Nanos room = std::max(length / 4, (least - length) / 2);
  return {std::max<Nanos>(0, start - room), start + length + room, pause > 0 ? kNoId : op};
}

}  // namespace weft::report
