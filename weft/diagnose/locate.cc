// SPDX-License-Identifier: Apache-2.0
// Where a removal bites: it is spelt in ops and edges, people think in ranks, steps and streams.
#include <algorithm>
#include <map>
#include <tuple>

#include "weft/diagnose/suspects.h"

namespace weft::diagnose {
namespace {

using graph::Graph;
using graph::kNoId;
using graph::OpId;

/// Time by rank, and by step and lane of a rank.
class Tally {
 public:
  explicit Tally(const Graph& graph) : graph_(graph) {}

  /// Time of an op counts for its rank; that of a transfer for every rank that takes part.
  void add(OpId op, Nanos time) {
    if (time <= 0) return;
    ++count;
    const std::uint32_t c = graph_.ops.collective[op];
    if (graph_.rank(op) >= 0 || c == kNoId) return add_at(op, op, time);
    for (const OpId arrival : graph_.collectives[c].arrivals) add_at(op, arrival, time);
  }

  std::int64_t count = 0;
  std::map<std::int32_t, Nanos> by_rank;
  std::map<std::pair<std::int32_t, std::int32_t>, Nanos> by_step;   ///< (rank, step)
  std::map<std::pair<std::int32_t, graph::LaneId>, Nanos> by_lane;  ///< (rank, lane)

 private:
  void add_at(OpId op, OpId where, Nanos time) {
    const std::int32_t rank = graph_.rank(where);
    by_rank[rank] += time;
    by_step[{rank, graph_.ops.step[op]}] += time;
    by_lane[{rank, graph_.ops.lane[where]}] += time;
  }

  const Graph& graph_;
};

/// The second part of the key with the most time, among those of the rank; `missing` without one.
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

/// How long the op waited for this edge after all others had let it go.
Nanos waited_for(const sim::Replay& replay, OpId op, graph::EdgeId edge) {
  const Graph& graph = replay.graph();
  Nanos others = 0;
  for (graph::EdgeId e = graph.first_edge[op]; e < graph.first_edge[op + 1]; ++e) {
    if (e != edge) others = std::max(others, replay.end(graph.edges[e].source) + replay.delay(e));
  }
  return replay.start(op) - others;
}

}  // namespace

void locate(const Evidence& evidence, Finding& finding) {
  const Graph& graph = evidence.graph;
  Tally tally(graph);
  const Removal& removal = finding.removal;
  for (const auto& [op, duration] : removal.durations) {
    tally.add(op, graph.ops.duration[op] - duration);
  }
  const auto destination = [&](graph::EdgeId edge) {
    const auto next = std::upper_bound(graph.first_edge.begin(), graph.first_edge.end(), edge);
    return static_cast<OpId>(next - graph.first_edge.begin() - 1);
  };
  for (const auto& [edge, delay] : removal.delays) {
    tally.add(destination(edge), graph.edges[edge].delay - delay);
  }
  for (const graph::EdgeId edge : removal.edges) {
    const OpId op = destination(edge);
    tally.add(op, waited_for(evidence.replay, op, edge));
  }

  finding.count = tally.count;
  Nanos most = 0;
  for (const auto& [rank, time] : tally.by_rank) {
    if (rank < 0) continue;
    if (finding.ranks.empty() || finding.ranks.back() != rank) finding.ranks.push_back(rank);
    if (time <= most) continue;
    most = time;
    if (finding.kind != "straggler") finding.rank = rank;
  }
  std::sort(finding.ranks.begin(), finding.ranks.end());
  finding.ranks.erase(std::unique(finding.ranks.begin(), finding.ranks.end()), finding.ranks.end());
  const auto complete = static_cast<Nanos>(complete_steps(evidence.steps).size());
  const auto own = tally.by_rank.find(finding.rank);
  if (own != tally.by_rank.end()) finding.time = own->second / std::max<Nanos>(1, complete);
  finding.step = most_of(tally.by_step, finding.rank, std::int32_t{-1});
  const graph::LaneId lane = most_of(tally.by_lane, finding.rank, kNoId);
  if (lane == kNoId) return;
  const std::string& name = graph.lanes[lane].name;
  finding.lane = name.substr(name.find('/') + 1);  // "r2/stream 7"
}

}  // namespace weft::diagnose
