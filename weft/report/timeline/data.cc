// SPDX-License-Identifier: Apache-2.0
// Builds a timeline in four passes:
//   1. For each rank, in parallel, draft.cc decides which events are drawn, on which lanes and in
//      which rows. The result is the draft of the rank.
//   2. Spans that must not be merged are marked, then the drafts are thinned (thin.cc).
//   3. The drafts are joined into columns, rank by rank. After this pass, every span has its final
//      id.
//   4. The things that refer to spans by id are added: launches, collectives and the critical path
//      (links.cc). Then the groups of similar ranks are found (similar_ranks.cc).
#include "weft/report/timeline/data.h"

#include <algorithm>
#include <map>

#include "weft/base/parallel.h"
#include "weft/report/timeline/draft.h"
#include "weft/trace/steps.h"

namespace weft::report {
namespace {

/// For each lane of the graph, the index of its rank in Run::ranks; kNoSpan if the lane has no
/// rank.
std::vector<std::uint32_t> ranks_of_lanes(const predict::Job& job) {
  std::map<std::int32_t, std::uint32_t> index;
  for (std::uint32_t r = 0; r < job.run.ranks.size(); ++r) index[job.run.ranks[r].rank] = r;
  std::vector<std::uint32_t> ranks;
  for (const graph::Lane& lane : job.graph.lanes) {
    const auto it = index.find(lane.rank);
    ranks.push_back(it == index.end() ? kNoSpan : it->second);
  }
  return ranks;
}

/// Calls body(op, index of the rank, event) for every op that has a recorded event. Transfers and
/// inferred ops have no event.
template <class Body>
void for_recorded_ops(const predict::Job& job, const SpanIndex& index, const Body& body) {
  const graph::Ops& ops = job.graph.ops;
  for (graph::OpId op = 0; op < ops.size(); ++op) {
    const std::uint32_t rank = index.rank_of_lane[ops.lane[op]];
    if (ops.event[op] != graph::kNoId && rank != kNoSpan) body(op, rank, ops.event[op]);
  }
}

std::vector<RankTimeline> draft_ranks(const predict::Job& job) {
  const auto& traces = job.run.ranks;
  std::vector<std::vector<bool>> communication(traces.size());
  for (std::size_t r = 0; r < traces.size(); ++r) communication[r].resize(traces[r].events.size());
  for (const trace::Match& match : job.matches) {
    for (const trace::Member& member : match.members) {
      communication[member.rank][member.event] = true;
    }
  }
  std::vector<RankTimeline> ranks(traces.size());
  parallel_for(traces.size(), [&](std::size_t r) {
    ranks[r] = draft_rank_timeline(traces[r], communication[r]);
    ranks[r].keep = communication[r];
    for (const Nanos start : traces[r].events.start) {
      ranks[r].step.push_back(trace::step_at(traces[r], start));
    }
  });
  return ranks;
}

/// Marks the spans that thinning must not merge: spans on the critical path, and spans that overlap
/// a detail window. Members of collectives are already marked.
void keep_detail(const predict::Job& job, const diagnose::CriticalPath* path,
                 const std::vector<DetailWindow>& windows, const SpanIndex& index,
                 std::vector<RankTimeline>& ranks) {
  if (path) {
    for (const diagnose::PathPiece& piece : path->pieces) {
      const std::uint32_t rank = index.rank_of_lane[job.graph.ops.lane[piece.op]];
      const std::uint32_t event = job.graph.ops.event[piece.op];
      if (rank != kNoSpan && event != graph::kNoId) ranks[rank].keep[event] = true;
    }
  }
  for (const DetailWindow& window : windows) {
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      if (window.rank >= 0 && window.rank != job.run.ranks[r].rank) continue;
      const trace::Events& e = job.run.ranks[r].events;
      for (std::size_t i = 0; i < e.size(); ++i) {
        if (e.start[i] - job.graph.origin < window.end &&
            e.end(i) - job.graph.origin > window.start) {
          ranks[r].keep[i] = true;
        }
      }
    }
  }
}

/// Joins the drafts of all ranks into the columns of a Timeline, and records in a SpanIndex which
/// span each event became.
class Columns {
 public:
  Columns(const predict::Job& job, SpanIndex& index, Timeline& timeline)
      : job_(job), index_(index), timeline_(timeline) {}

  void add_rank(std::uint32_t r, const RankTimeline& rank) {
    const trace::RankTrace& trace = job_.run.ranks[r];
    timeline_.ranks.push_back({trace.rank, place_of(trace), r});
    index_.span_of_event.emplace_back(trace.events.size(), kNoSpan);
    index_.lane_of_trace_lane.emplace_back(trace.lanes.size(), kNoSpan);
    names_.assign(trace.names.size(), kNoSpan);
    for (const DraftLane& draft : rank.lanes) {
      const auto lane = static_cast<std::uint32_t>(timeline_.lanes.size());
      timeline_.lanes.push_back(draft.lane);
      timeline_.lanes.back().rank = r;
      // A stream with annotations has two lanes. The index refers to the lane with the kernels,
      // because gaps of the critical path are drawn on that lane.
      if (draft.lane.group != RowGroup::kRanges) {
        index_.lane_of_trace_lane[r][draft.trace_lane] = lane;
      }
      for (const DraftRow& row : draft.rows) add_row(r, rank, lane, row);
    }
  }

 private:
  static std::string place_of(const trace::RankTrace& trace) {
    if (trace.stage < 0) return trace.host;
    return "stage " + std::to_string(trace.stage) + ", replica " + std::to_string(trace.replica);
  }

  void add_row(std::uint32_t r, const RankTimeline& rank, std::uint32_t lane, const DraftRow& row) {
    const auto first = static_cast<std::uint32_t>(timeline_.spans.size());
    for (std::size_t g = 0; g < row.group_count(); ++g) {
      const std::size_t begin = row.groups.empty() ? g : row.groups[g];
      const std::size_t end = row.groups.empty() ? g + 1 : row.groups[g + 1];
      add_span(r, rank, row, begin, end);
    }
    const auto last = static_cast<std::uint32_t>(timeline_.spans.size());
    timeline_.rows.push_back({lane, row.depth, first, last});
    timeline_.recorded_spans += static_cast<std::int64_t>(row.spans.size());
  }

  /// Adds one span for the recorded spans [begin, end) of the row. The new span has the name and
  /// the step of the longest of them.
  void add_span(std::uint32_t r, const RankTimeline& rank, const DraftRow& row, std::size_t begin,
                std::size_t end) {
    TimelineSpans& spans = timeline_.spans;
    const auto id = static_cast<std::uint32_t>(spans.size());
    const LaneSpan* longest = &row.spans[begin];
    Nanos busy = 0;
    for (std::size_t i = begin; i < end; ++i) {
      busy += row.spans[i].duration;
      if (row.spans[i].duration > longest->duration) longest = &row.spans[i];
      index_.span_of_event[r][row.spans[i].event] = id;
    }
    const Nanos start = row.spans[begin].start;
    spans.start.push_back(start - job_.graph.origin);
    spans.duration.push_back(row.spans[end - 1].end() - start);
    spans.label.push_back(label_of(r, rank, longest->event));
    spans.step.push_back(rank.step[longest->event]);
    spans.count.push_back(static_cast<std::uint32_t>(end - begin));
    spans.busy.push_back(busy);
  }

  std::uint32_t label_of(std::uint32_t r, const RankTimeline& rank, std::uint32_t event) {
    const trace::RankTrace& trace = job_.run.ranks[r];
    NameId& name = names_[trace.events.name[event]];
    if (name == kNoSpan) {
      name = timeline_.names.intern(trace.names.text(trace.events.name[event]));
    }
    const std::pair key{name, rank.span_class[event]};
    const auto [it, is_new] = labels_.try_emplace(key, timeline_.labels.size());
    if (is_new) timeline_.labels.push_back({key.first, key.second});
    return it->second;
  }

  const predict::Job& job_;
  SpanIndex& index_;
  Timeline& timeline_;
  std::vector<NameId> names_;  ///< maps name ids of the rank to those of the timeline
  std::map<std::pair<NameId, SpanClass>, std::uint32_t> labels_;
};

}  // namespace

const char* span_class_name(SpanClass span_class) {
  constexpr std::array<const char*, kSpanClasses> kNames = {
      "compute", "memory_copy", "communication", "data_loading",
      "runtime", "host_op",     "range",         "profiler"};
  return kNames[static_cast<std::size_t>(span_class)];
}

Timeline make_timeline(const predict::Job& job, const diagnose::CriticalPath* path,
                       const TimelineOptions& options) {
  Timeline timeline;
  SpanIndex index;
  index.rank_of_lane = ranks_of_lanes(job);
  std::vector<RankTimeline> ranks = draft_ranks(job);
  // So far, every event has the step in which it starts. But device work belongs to the step of its
  // launch, and may start after that step. The graph has the right step.
  for_recorded_ops(job, index, [&](graph::OpId op, std::uint32_t rank, std::uint32_t event) {
    ranks[rank].step[event] = job.graph.ops.step[op];
  });
  keep_detail(job, path, options.detail, index, ranks);
  thin(ranks, options.most_spans);
  Columns columns(job, index, timeline);
  for (std::uint32_t r = 0; r < ranks.size(); ++r) columns.add_rank(r, ranks[r]);

  timeline.span_of_op.assign(job.graph.size(), kNoSpan);
  for_recorded_ops(job, index, [&](graph::OpId op, std::uint32_t rank, std::uint32_t event) {
    timeline.span_of_op[op] = index.span_of_event[rank][event];
  });
  add_launches(job, index, timeline);
  add_collectives(job, timeline);
  if (path) add_path(job, *path, index, timeline);
  add_steps(job, timeline);
  const std::vector<std::uint32_t> like = find_similar_ranks(timeline);
  for (std::size_t r = 0; r < like.size(); ++r) timeline.ranks[r].like = like[r];
  return timeline;
}

}  // namespace weft::report
