// SPDX-License-Identifier: Apache-2.0
// Intermediate form of the timeline, between the events of a trace and the columns of a Timeline,
// and the functions that build and connect it. Private to this folder.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/report/timeline/data.h"
#include "weft/report/timeline/rows.h"

namespace weft::report {

/// The spans of one row and the groups into which thinning merges them. Group g consists of spans
/// [groups[g], groups[g + 1]) and becomes one span of the timeline.
struct DraftRow {
  std::uint32_t depth = 0;
  std::vector<LaneSpan> spans;
  std::vector<std::uint32_t> groups;  ///< empty if each span is a group of its own

  std::size_t group_count() const { return groups.empty() ? spans.size() : groups.size() - 1; }
};

struct DraftLane {
  TimelineLane lane;
  std::uint32_t trace_lane = 0;  ///< index into RankTrace::lanes
  std::vector<DraftRow> rows;
};

/// The timeline of one rank, before all ranks are joined. Times are on the clock of the trace.
struct RankTimeline {
  std::vector<DraftLane> lanes;
  std::vector<SpanClass> span_class;  ///< of each event
  std::vector<std::int32_t> step;     ///< of each event
  std::vector<bool> keep;             ///< per event: thinning must not merge its span
};

/// Lays the events of a rank out in rows. `communication[event]` says whether the event is a member
/// of a match. Leaves `step` and `keep` empty.
RankTimeline draft_rank_timeline(const trace::RankTrace& trace,
                                 const std::vector<bool>& communication);

/// Fills DraftRow::groups so that at most `most` groups remain. Spans with `keep` set and spans
/// that are longer than about a second are never merged, so more than `most` groups can remain.
/// thin.cc describes the method.
void thin(std::vector<RankTimeline>& ranks, std::size_t most);

/// TimelineRank::like for every rank: the first rank with the same device lanes, about the same
/// time in each class, and about the same time waiting for other ranks. O(ranks * distinct ranks).
std::vector<std::uint32_t> find_similar_ranks(const Timeline& timeline);

/// Maps events and lanes of the job to spans and lanes of the timeline. kNoSpan stands for none.
struct SpanIndex {
  std::vector<std::vector<std::uint32_t>> span_of_event;       ///< [index into Run::ranks][event]
  std::vector<std::vector<std::uint32_t>> lane_of_trace_lane;  ///< [index into Run::ranks][lane]
  std::vector<std::uint32_t> rank_of_lane;  ///< lane of the graph -> index into Run::ranks
};

void add_launches(const predict::Job& job, const SpanIndex& index, Timeline& timeline);
/// Timeline::span_of_op must be filled before add_collectives() and add_path().
void add_collectives(const predict::Job& job, Timeline& timeline);
void add_path(const predict::Job& job, const diagnose::CriticalPath& path, const SpanIndex& index,
              Timeline& timeline);
void add_steps(const predict::Job& job, Timeline& timeline);

}  // namespace weft::report
