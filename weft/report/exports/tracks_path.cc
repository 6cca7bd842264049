// SPDX-License-Identifier: Apache-2.0
#include "weft/report/exports/tracks_path.h"

#include <map>
#include <string>
#include <utility>

namespace weft::report {
namespace {

constexpr const char* kCriticalPath = "critical path";

/// Maps (transfer, rank) to the arrival of that rank. The critical path contains transfers, but a
/// transfer has no event. So an arrow leads to the event of the arrival instead.
using Arrivals = std::map<std::pair<graph::OpId, std::int32_t>, graph::OpId>;

Arrivals arrivals_of(const graph::Graph& graph) {
  Arrivals arrivals;
  for (const graph::Collective& collective : graph.collectives) {
    for (const graph::OpId arrival : collective.arrivals) {
      arrivals[{collective.transfer, graph.rank(arrival)}] = arrival;
    }
  }
  return arrivals;
}

}  // namespace

void add_path(const predict::Job& job, const diagnose::CriticalPath& path, TracksBuilder& out) {
  if (path.pieces.empty()) return;
  std::vector<LaidSpan> spans;
  for (std::uint32_t i = 0; i < path.pieces.size(); ++i) {
    const diagnose::PathPiece& piece = path.pieces[i];
    spans.push_back({piece.recorded_start, piece.recorded_end - piece.recorded_start, i, false});
  }
  const std::uint32_t process = out.add_process(kCriticalPath);
  const NameId category = out.category("critical_path"), cause = out.key("cause"),
               rank = out.key("rank"), step = out.key("step"), lane = out.key("lane"),
               before = out.key("before");
  out.add_lane(process, false, kCriticalPath, std::move(spans), [&](std::uint32_t i) {
    const diagnose::PathPiece& piece = path.pieces[i];
    const char* const why = diagnose::cause_name(piece.cause);
    const std::string_view op = job.graph.name(piece.op);
    out.span().name = out.tracks().names.intern(piece.is_gap ? std::string_view(why) : op);
    out.span().category = category;
    out.text(cause, why);
    if (piece.is_gap) out.text(before, op);
    if (piece.rank >= 0) out.number(rank, piece.rank);
    if (piece.step >= 0) out.number(step, piece.step);
    out.text(lane, job.graph.lanes[piece.lane].name);
  });
}

void add_path_arrows(const predict::Job& job, const diagnose::CriticalPath& path,
                     const std::vector<std::vector<std::uint32_t>>& span_of, TracksBuilder& out) {
  const Arrivals arrivals = arrivals_of(job.graph);
  std::map<std::int32_t, std::size_t> index_of_rank;
  for (std::size_t r = 0; r < job.run.ranks.size(); ++r) index_of_rank[job.run.ranks[r].rank] = r;
  const NameId category = out.category("critical_path");
  std::uint32_t last = kNotDrawn;
  // Gaps and inferred ops have no event. The arrow skips them and goes on to the next event.
  for (const diagnose::PathPiece& piece : path.pieces) {
    if (piece.is_gap) continue;
    const auto arrival = arrivals.find({piece.op, piece.rank});
    const graph::OpId op = arrival == arrivals.end() ? piece.op : arrival->second;
    const auto rank = index_of_rank.find(job.graph.rank(op));
    const std::uint32_t event = job.graph.ops.event[op];
    if (rank == index_of_rank.end() || event == graph::kNoId) continue;
    const std::uint32_t span = span_of[rank->second][event];
    // Consecutive pieces can belong to the same event; an arrow from a span to itself says nothing.
    if (span != last) out.add_arrow(category, {last, span});
    last = span;
  }
}

}  // namespace weft::report
