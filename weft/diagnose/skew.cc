// SPDX-License-Identifier: Apache-2.0
// Computes the skew of each collective. An arrival ends when its rank is ready. The transfer starts
// when all ranks are ready. So the skew is the time from the first end of an arrival to the start
// of the transfer. If only one member of a collective was recorded, its skew is unknown. So such
// collectives are left out.
#include "weft/diagnose/skew.h"

#include <algorithm>
#include <map>

namespace weft::diagnose {

std::vector<CollectiveSkew> find_skews(const predict::Job& job, const Times& times) {
  const graph::Graph& graph = job.graph;
  std::vector<CollectiveSkew> skews;
  for (std::uint32_t c = 0; c < graph.collectives.size(); ++c) {
    const graph::Collective& collective = graph.collectives[c];
    if (collective.transfer == graph::kNoId || collective.arrivals.size() < 2) continue;
    CollectiveSkew skew;
    skew.collective = c;
    skew.step = graph.ops.step[collective.transfer];
    skew.last_arrival = times.starts[collective.transfer];
    skew.end = times.ends[collective.transfer];
    skew.first_arrival = skew.last_arrival;
    Nanos latest = -1;
    for (const graph::OpId arrival : collective.arrivals) {
      const Nanos arrived = times.ends[arrival];
      skew.ranks.push_back(graph.rank(arrival));
      // This is still a point in time. When the first arrival is known, it is subtracted below.
      skew.late_by.push_back(arrived);
      skew.first_arrival = std::min(skew.first_arrival, arrived);
      if (arrived <= latest) continue;
      latest = arrived;
      skew.last_rank = graph.rank(arrival);
    }
    for (Nanos& late : skew.late_by) late -= skew.first_arrival;
    skews.push_back(std::move(skew));
  }
  std::stable_sort(skews.begin(), skews.end(),
                   [](const CollectiveSkew& a, const CollectiveSkew& b) {
                     return a.first_arrival < b.first_arrival;
                   });
  return skews;
}

std::vector<Lateness> lateness_by_rank(const std::vector<CollectiveSkew>& skews) {
  std::map<std::int32_t, Lateness> by_rank;
  for (const CollectiveSkew& skew : skews) {
    for (const std::int32_t rank : skew.ranks) ++by_rank[rank].collectives;
    if (skew.skew() <= 0) continue;  // all ranks arrived at the same time: none was last
    Lateness& last = by_rank[skew.last_rank];
    ++last.last;
    last.made_wait += skew.skew();
  }
  std::vector<Lateness> out;
  for (auto& [rank, lateness] : by_rank) {
    lateness.rank = rank;
    out.push_back(lateness);
  }
  return out;
}

}  // namespace weft::diagnose
