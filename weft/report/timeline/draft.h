// SPDX-License-Identifier: Apache-2.0
// Declares the draft of a timeline, a form between the events of a trace and the columns of a
// Timeline, and the functions that make a draft and turn it into a Timeline. Only files of this
// folder include this header.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/report/timeline/data.h"
#include "weft/report/timeline/rows.h"

namespace weft::report {

/// The spans of one row, divided into groups of neighbours. Group g consists of spans [groups[g],
/// groups[g + 1]). Thinning merges each group into one span of the timeline.
struct DraftRow {
  std::uint32_t depth = 0;
  std::vector<LaneSpan> spans;
  std::vector<std::uint32_t> groups;  ///< empty if each span is a separate group

  std::size_t group_count() const { return groups.empty() ? spans.size() : groups.size() - 1; }
};

struct DraftLane {
  TimelineLane lane;
  std::uint32_t trace_lane = 0;  ///< index into RankTrace::lanes
  std::vector<DraftRow> rows;
};

/// The draft of one rank. Times are on the clock of the trace.
struct RankTimeline {
  std::vector<DraftLane> lanes;
  std::vector<SpanClass> span_class;  ///< of each event
  std::vector<std::int32_t> step;     ///< of each event
  std::vector<bool> keep;             ///< per event: thinning must not merge its span
};

/// Assigns the events of a rank to lanes and rows. `communication[event]` says whether the event is
/// a member of a match. The members `step` and `keep` of the result are empty.
RankTimeline draft_rank_timeline(const trace::RankTrace& trace,
                                 const std::vector<bool>& communication);

/// Fills DraftRow::groups so that at most `most` groups remain. Spans with `keep` set and spans
/// that are longer than about a second are never merged, so more than `most` groups can remain.
/// thin.cc describes the method.
void thin(std::vector<RankTimeline>& ranks, std::size_t most);

/// Returns TimelineRank::like for every rank: the first rank that has the same device lanes, about
/// the same time in each class of spans, and about the same time of waiting for other ranks. Takes
/// O(r d) time for r ranks, of which d are not similar to an earlier rank.
std::vector<std::uint32_t> find_similar_ranks(const Timeline& timeline);

/// Maps events and lanes of the job to spans and lanes of the timeline. kNoSpan means that there is
/// no such span or lane.
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
