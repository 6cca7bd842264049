// SPDX-License-Identifier: Apache-2.0
// Thins a timeline: merges short neighbouring spans, so that at most a given number of spans
// remains.
//
// Time is divided into intervals of 2^level ns. Two consecutive spans of a row are merged if they
// start in the same interval, each of them is shorter than an interval, and none of them is marked
// to be kept. A higher level merges more spans. So the search tries the levels in ascending order
// and takes the first level that leaves few enough spans. Rows of host threads and rows of devices
// have separate levels. Host rows are thinned first, because a reader looks at device work more
// closely.
#include <algorithm>

#include "weft/report/timeline/draft.h"

namespace weft::report {
namespace {

constexpr int kFinest =
    10;  ///< 2^10 ns is about 1 us; shorter intervals would merge very few spans
constexpr int kCoarsest = 30;  ///< 2^30 ns is about 1 s

/// Whether span i is merged with span i - 1 if time is divided at `level`.
bool joins(const DraftRow& row, const std::vector<bool>& keep, std::size_t i, int level) {
  const LaneSpan &before = row.spans[i - 1], &span = row.spans[i];
  const Nanos interval = Nanos{1} << level;
  return before.duration < interval && span.duration < interval && !keep[before.event] &&
         !keep[span.event] && (before.start >> level) == (span.start >> level);
}

std::size_t count_groups(const DraftRow& row, const std::vector<bool>& keep, int level) {
  std::size_t groups = row.spans.empty() ? 0 : 1;
  for (std::size_t i = 1; i < row.spans.size(); ++i) groups += !joins(row, keep, i, level);
  return groups;
}

void set_groups(DraftRow& row, const std::vector<bool>& keep, int level) {
  row.groups.assign(1, 0);
  for (std::size_t i = 1; i < row.spans.size(); ++i) {
    if (!joins(row, keep, i, level)) row.groups.push_back(static_cast<std::uint32_t>(i));
  }
  row.groups.push_back(static_cast<std::uint32_t>(row.spans.size()));
}

/// Calls body(row, keep flags of its rank) for all rows of host threads if `hosts` is true, else
/// for all other rows.
template <class Ranks, class Body>
void for_rows(Ranks& ranks, bool hosts, const Body& body) {
  for (auto& rank : ranks) {
    for (auto& lane : rank.lanes) {
      if ((lane.lane.group == RowGroup::kHost) != hosts) continue;
      for (auto& row : lane.rows) body(row, rank.keep);
    }
  }
}

std::size_t count_spans(const std::vector<RankTimeline>& ranks, bool hosts) {
  std::size_t spans = 0;
  for_rows(ranks, hosts, [&](const DraftRow& row, const auto&) { spans += row.group_count(); });
  return spans;
}

/// Thins the rows of host threads or the other rows to at most `most` spans. Uses the lowest level
/// that leaves few enough spans. If there is no such level, uses the highest level.
void thin_to(std::vector<RankTimeline>& ranks, bool hosts, std::size_t most) {
  if (count_spans(ranks, hosts) <= most) return;
  int level = kFinest;
  for (; level < kCoarsest; ++level) {
    std::size_t left = 0;
    for_rows(ranks, hosts, [&](const DraftRow& row, const std::vector<bool>& keep) {
      left += count_groups(row, keep, level);
    });
    if (left <= most) break;
  }
  for_rows(ranks, hosts,
           [&](DraftRow& row, const std::vector<bool>& keep) { set_groups(row, keep, level); });
}

}  // namespace

void thin(std::vector<RankTimeline>& ranks, std::size_t most) {
  // The budget is `most` spans. Host rows get the part of the budget that device rows do not need,
  // but at least a tenth of the budget, because idle time on a device often has its cause on the
  // host. Device rows then get the rest of the budget.
  const std::size_t devices = count_spans(ranks, false);
  thin_to(ranks, true, std::max(most / 10, most - std::min(most, devices)));
  thin_to(ranks, false, most - std::min(most, count_spans(ranks, true)));
}

}  // namespace weft::report
