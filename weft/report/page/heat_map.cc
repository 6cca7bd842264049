// SPDX-License-Identifier: Apache-2.0
// Builds the heat map in two steps. First it chooses the ranks that get a row. Then one pass over
// all collectives updates, in each column, the collective with the largest skew, and the largest
// lateness of each rank that has a row.
#include "weft/report/page/heat_map.h"

#include <algorithm>

namespace weft::report {
namespace {

/// The `most` ranks that make other ranks wait longest in total, in ascending order of rank.
std::vector<std::int32_t> ranks_to_show(const std::vector<diagnose::CollectiveSkew>& skews,
                                        std::size_t most) {
  std::vector<diagnose::Lateness> all = diagnose::lateness_by_rank(skews);
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.made_wait > b.made_wait; });
  if (all.size() > most) all.resize(most);
  std::vector<std::int32_t> ranks;
  for (const diagnose::Lateness& each : all) ranks.push_back(each.rank);
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

}  // namespace

HeatMap make_heat_map(const std::vector<diagnose::CollectiveSkew>& skews,
                      const HeatMapLimits& limits) {
  HeatMap map;
  map.columns.resize(std::min(skews.size(), limits.columns));
  for (const std::int32_t rank : ranks_to_show(skews, limits.rows)) {
    map.rows.push_back({rank, std::vector<Nanos>(map.columns.size(), -1)});
  }
  for (std::size_t i = 0; i < skews.size(); ++i) {
    const diagnose::CollectiveSkew& skew = skews[i];
    // Spreads the collectives evenly over the columns and keeps their order. If there are at most
    // limits.columns collectives, each has a separate column.
    const std::size_t c = i * map.columns.size() / skews.size();
    HeatColumn& column = map.columns[c];
    if (column.count++ == 0 || skew.skew() > skews[column.worst].skew()) column.worst = i;
    for (std::size_t m = 0; m < skew.ranks.size(); ++m) {
      const auto row =
          std::lower_bound(map.rows.begin(), map.rows.end(), skew.ranks[m],
                           [](const HeatRow& each, std::int32_t rank) { return each.rank < rank; });
      // The rank has no row, because other ranks cause more waiting.
      if (row == map.rows.end() || row->rank != skew.ranks[m]) continue;
      row->late_by[c] = std::max(row->late_by[c], skew.late_by[m]);
    }
  }
  return map;
}

}  // namespace weft::report
