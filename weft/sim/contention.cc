// SPDX-License-Identifier: Apache-2.0
// Finds the contended timeline by a fixed-point iteration. One round is a call of improve(). It
// finds the intervals in which collectives are resident in the present timeline. From these
// intervals it computes how long every slowed op takes, and replays. The rate of an op depends only
// on what happened before the op. So every round makes a longer prefix of the timeline exact, and
// there is only one fixed point. settle() repeats the rounds until no duration changes. If there
// are too many rounds, it runs the event-driven pass of contention_events.h. One more round then
// checks the result of this pass.
#include "weft/sim/contention.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>

#include "weft/base/check.h"
#include "weft/sim/contention_events.h"

namespace weft::sim {
namespace {

using graph::kNoId;
using graph::OpId;
using graph::OpKind;

bool is_compute(OpKind kind) {
  return kind != OpKind::kArrive && kind != OpKind::kTransfer && kind != OpKind::kPush &&
         kind != OpKind::kPull;
}

}  // namespace

Contention::Contention(const graph::Graph& graph, std::span<const double> slowdown)
    : graph_(&graph), slowdown_(graph.size(), 1.0) {
  WEFT_CHECK(slowdown.size() == graph.size());
  // Rank numbers need not be consecutive, so ranks_ is indexed by position.
  std::map<std::int32_t, std::size_t> positions;
  for (const graph::Lane& lane : graph.lanes) positions.emplace(lane.rank, positions.size());
  ranks_.resize(positions.size());
  for (OpId op = 0; op < graph.size(); ++op) {
    WEFT_CHECK(slowdown[op] > 0.0 && std::isfinite(slowdown[op]));
    if (graph.rank(op) < 0) continue;
    const std::size_t rank = positions.at(graph.rank(op));
    if (graph.ops.kind[op] == OpKind::kArrive) {
      const std::uint32_t collective = graph.ops.collective[op];
      const OpId transfer = collective == kNoId ? kNoId : graph.collectives[collective].transfer;
      ranks_[rank].residents.push_back({op, transfer == kNoId ? op : transfer});
    } else if (slowdown[op] != 1.0 && is_compute(graph.ops.kind[op])) {
      ranks_[rank].slowed.push_back({op, slowdown[op]});
      slowdown_[op] = slowdown[op];
    }
  }
  // On a rank without collectives, nothing is ever slowed. Drop the slowed ops of such a rank, so
  // that the rounds take less time.
  for (Rank& rank : ranks_) {
    if (!rank.residents.empty()) continue;
    for (const Slowed& slowed : rank.slowed) slowdown_[slowed.op] = 1.0;
    rank.slowed.clear();
  }
}

void Contention::find_intervals(const Replay& replay, const Rank& rank) {
  intervals_.clear();
  for (const Resident& resident : rank.residents) {
    const Interval interval{replay.start(resident.arrival), replay.end(resident.release)};
    if (interval.start < interval.end) intervals_.push_back(interval);
  }
  std::sort(intervals_.begin(), intervals_.end(),
            [](const Interval& a, const Interval& b) { return a.start < b.start; });
  std::size_t kept = 0;
  for (const Interval& interval : intervals_) {
    if (kept > 0 && interval.start < intervals_[kept - 1].end) {
      intervals_[kept - 1].end = std::max(intervals_[kept - 1].end, interval.end);
    } else {
      intervals_[kept++] = interval;
    }
  }
  intervals_.resize(kept);
}

/// Goes from interval to interval until the work is done. The op runs at full rate between the
/// intervals and is slowed inside them.
Nanos Contention::slowed_duration(Nanos start, Nanos work, double slowdown) const {
  auto next = std::upper_bound(intervals_.begin(), intervals_.end(), start,
                               [](Nanos time, const Interval& i) { return time < i.end; });
  double left = static_cast<double>(work);
  for (Nanos now = start;; ++next) {
    // If the rounded end of an op is the start of an interval, the interval does not slow the op,
    // even if the interval before ends at that same instant. Otherwise an op whose end makes the
    // collective arrive would slow itself, and no timeline would be consistent.
    const Nanos free_until =
        next == intervals_.end() ? std::numeric_limits<Nanos>::max() : next->start;
    if (now <= free_until) {
      if (std::llround(left) <= free_until - now) return now + std::llround(left) - start;
      left -= static_cast<double>(free_until - now);
      now = free_until;
    }
    const Nanos rest = std::llround(left * slowdown);
    if (rest <= next->end - now) return now + rest - start;
    left -= static_cast<double>(next->end - now) / slowdown;
    now = next->end;
  }
}

/// One round: computes the durations that fit the present timeline, then replays with them. Returns
/// the largest change of a duration; 0 means that the timeline is consistent.
Nanos Contention::improve(Replay& replay, std::span<const Nanos> work) {
  Nanos largest = 0;
  for (const Rank& rank : ranks_) {
    if (rank.slowed.empty()) continue;
    find_intervals(replay, rank);
    for (const auto& [op, slowdown] : rank.slowed) {
      const Nanos duration = slowed_duration(replay.start(op), work[op], slowdown);
      largest = std::max(largest, std::abs(duration - replay.duration(op)));
      replay.set_duration(op, duration);
    }
  }
  replay.update();
  return largest;
}

ContentionResult Contention::settle(Replay& replay, std::span<const Nanos> work,
                                    const ContentionOptions& options) {
  WEFT_CHECK(&replay.graph() == graph_ && work.size() == graph_->size());
  for (OpId op = 0; op < work.size(); ++op) {
    if (slowdown_[op] == 1.0) replay.set_duration(op, work[op]);
  }
  replay.update();
  ContentionResult result;
  while (!result.converged && result.rounds < options.max_rounds) {
    ++result.rounds;
    result.last_change = improve(replay, work);
    result.converged = result.last_change == 0;
  }
  if (result.converged) return result;
  result.by_events = true;
  const std::vector<Nanos> durations =
      contended_durations(*graph_, work, slowdown_, replay.delays());
  for (OpId op = 0; op < durations.size(); ++op) replay.set_duration(op, durations[op]);
  replay.update();
  ++result.rounds;
  result.last_change = improve(replay, work);
  result.converged = result.last_change == 0;
  return result;
}

}  // namespace weft::sim
