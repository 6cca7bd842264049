// SPDX-License-Identifier: Apache-2.0
// Finds where a removal takes most time. A removal lists ops and edges, but users think in ranks,
// steps and streams. time_taken() computes how much time each op loses. Tally adds this up by rank,
// by step and by lane. The largest sums are reported.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "weft/diagnose/suspects.h"

namespace weft::diagnose {
namespace {

using graph::Graph;
using graph::kNoId;
using graph::OpId;

/// Sums of removed time: by rank, by (rank, step), and by (rank, lane).
struct Tally {
  /// Adds time of an op to its rank. Adds time of a transfer to every rank that takes part in it.
  void add(const Graph& graph, OpId op, Nanos time) {
    const std::uint32_t c = graph.ops.collective[op];
    if (graph.rank(op) >= 0 || c == kNoId) return add_at(graph, op, op, time);
    for (const OpId arrival : graph.collectives[c].arrivals) add_at(graph, op, arrival, time);
  }

  std::map<std::int32_t, Nanos> by_rank;
  std::map<std::pair<std::int32_t, std::int32_t>, Nanos> by_step;   ///< (rank, step)
  std::map<std::pair<std::int32_t, graph::LaneId>, Nanos> by_lane;  ///< (rank, lane)

 private:
  void add_at(const Graph& graph, OpId op, OpId where, Nanos time) {
    const std::int32_t rank = graph.rank(where);
    by_rank[rank] += time;
    by_step[{rank, graph.ops.step[op]}] += time;
    by_lane[{rank, graph.ops.lane[where]}] += time;
  }
};

/// The keys are pairs whose first part is a rank. Among the keys of `rank`, returns the second part
/// of the key with the most time. Returns `missing` if there are none.
template <class Second>
Second most_of(const std::map<std::pair<std::int32_t, Second>, Nanos>& times, std::int32_t rank,
               Second missing) {
  Nanos most = 0;
  for (const auto& [key, time] : times) {
    if (key.first != rank || time <= most) continue;
    most = time;
    missing = key.second;
  }
  return missing;
}

/// Returns how long the op waited only for this edge, after the sources of all its other edges had
/// ended.
Nanos waited_for(const sim::Replay& replay, OpId op, graph::EdgeId edge) {
  const Graph& graph = replay.graph();
  Nanos others = 0;
  for (graph::EdgeId e = graph.first_edge[op]; e < graph.first_edge[op + 1]; ++e) {
    if (e != edge) others = std::max(others, replay.end(graph.edges[e].source) + replay.delay(e));
  }
  return replay.start(op) - others;
}

/// Returns the time that each op loses through the removal, including the gaps before the op. Only
/// ops of complete steps count, because only these steps decide the gain. If the removal has no op
/// in them, all ops count.
std::vector<FindingOp> time_taken(const Evidence& evidence, const Removal& removal) {
  const Graph& graph = evidence.graph;
  std::map<OpId, FindingOp> times;
  for (const auto& [op, duration] : removal.durations) {
    times[op].time += graph.ops.duration[op] - duration;
  }
  const auto destination = [&](graph::EdgeId edge) {
    const auto next = std::upper_bound(graph.first_edge.begin(), graph.first_edge.end(), edge);
    return static_cast<OpId>(next - graph.first_edge.begin() - 1);
  };
  for (const auto& [edge, delay] : removal.delays) {
    FindingOp& lost = times[destination(edge)];
    lost.time += graph.edges[edge].delay - delay;
    lost.pause += graph.edges[edge].delay - delay;
  }
  for (const graph::EdgeId edge : removal.removed_edges) {
    const OpId op = destination(edge);
    times[op].time += waited_for(evidence.replay, op, edge);
  }
  std::set<std::int64_t> complete;
  for (const std::size_t s : complete_steps(evidence.steps)) {
    complete.insert(evidence.steps.steps[s]);
  }
  std::vector<FindingOp> taken, within;
  for (const auto& [op, lost] : times) {
    if (lost.time <= 0) continue;
    taken.push_back({op, lost.time, std::max<Nanos>(0, lost.pause)});
    if (complete.contains(graph.ops.step[op])) within.push_back(taken.back());
  }
  return within.empty() ? taken : within;
}

}  // namespace

void locate(const Evidence& evidence, Finding& finding) {
  const Graph& graph = evidence.graph;
  std::vector<FindingOp> taken = time_taken(evidence, finding.removal);
  Tally tally, pauses;
  for (const FindingOp& each : taken) {
    tally.add(graph, each.op, each.time);
    pauses.add(graph, each.op, each.pause);
  }
  finding.count = static_cast<std::int64_t>(taken.size());
  std::stable_sort(taken.begin(), taken.end(),
                   [](const FindingOp& a, const FindingOp& b) { return a.time > b.time; });
  taken.resize(std::min(taken.size(), kFindingOps));
  finding.ops = std::move(taken);

  Nanos most = 0;
  for (const auto& [rank, time] : tally.by_rank) {
    if (rank < 0) continue;
    if (finding.ranks.empty() || finding.ranks.back() != rank) finding.ranks.push_back(rank);
    if (time <= most) continue;
    most = time;
    // The rank of a straggler is the culprit itself, which is known already.
    if (finding.kind != FindingKind::kStraggler) finding.rank = rank;
  }
  std::sort(finding.ranks.begin(), finding.ranks.end());
  finding.ranks.erase(std::unique(finding.ranks.begin(), finding.ranks.end()), finding.ranks.end());
  const auto complete = static_cast<Nanos>(complete_steps(evidence.steps).size());
  const auto own = tally.by_rank.find(finding.rank);
  if (own != tally.by_rank.end()) {
    finding.time = own->second / std::max<Nanos>(1, complete);
    finding.pause = pauses.by_rank[finding.rank] / std::max<Nanos>(1, complete);
  }
  finding.step = most_of(tally.by_step, finding.rank, std::int32_t{-1});
  const graph::LaneId lane = most_of(tally.by_lane, finding.rank, kNoId);
  if (lane == kNoId) return;
  const std::string& name = graph.lanes[lane].name;
  finding.lane = name.substr(name.find('/') + 1);  // "r2/stream 7" becomes "stream 7"
}

}  // namespace weft::diagnose
