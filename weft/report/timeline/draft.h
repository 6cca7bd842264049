// SPDX-License-Identifier: Apache-2.0
// The timeline between events and columns. Private to this room.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/report/timeline/data.h"
#include "weft/report/timeline/rows.h"

namespace weft::report {

/// Spans of one row and how they are put together: group g is spans [groups[g], groups[g + 1]).
struct DraftRow {
  std::uint32_t depth = 0;
  std::vector<LaneSpan> spans;
  std::vector<std::uint32_t> groups;  ///< empty: each span is a group of its own

  std::size_t group_count() const { return groups.empty() ? spans.size() : groups.size() - 1; }
};

struct DraftLane {
  TimelineLane lane;
  std::uint32_t trace_lane = 0;
  std::vector<DraftRow> rows;
};

/// One rank before the ranks are joined. Times are those of the trace.
struct RankTimeline {
  std::vector<DraftLane> lanes;
  std::vector<SpanClass> span_class;  ///< of each event
  std::vector<std::int32_t> step;     ///< of each event
  std::vector<bool> keep;             ///< events that are never put together with others
};

/// What is drawn of a rank, laid out in rows. `communication[event]`: members of matches.
RankTimeline draft_rank_timeline(const trace::RankTrace& trace,
                                 const std::vector<bool>& communication);

/// Fills DraftRow::groups so that at most `most` groups are left, as far as `keep` allows. Short
/// neighbours are put together by power-of-two stretches of time; hosts give way first.
void thin(std::vector<RankTimeline>& ranks, std::size_t most);

/// TimelineRank::like of every rank: the first one with the same lanes whose time in each class,
/// and in waiting for others, is about the same.
std::vector<std::uint32_t> find_like_ranks(const Timeline& timeline);

/// Where events of the job ended up.
struct SpanIndex {
  std::vector<std::vector<std::uint32_t>> span_of_event;  ///< [index into Run::ranks][event]
  std::vector<std::vector<std::uint32_t>> lane_of_trace_lane;
  std::vector<std::uint32_t> rank_of_lane;  ///< graph lane -> index into Run::ranks; kNoSpan: none
};

void add_launches(const predict::Job& job, const SpanIndex& index, Timeline& timeline);
/// Needs Timeline::span_of_op.
void add_collectives(const predict::Job& job, Timeline& timeline);
void add_path(const predict::Job& job, const diagnose::CriticalPath& path, const SpanIndex& index,
              Timeline& timeline);
void add_steps(const predict::Job& job, Timeline& timeline);

}  // namespace weft::report
