// SPDX-License-Identifier: Apache-2.0
// Compute slows down while a collective is resident on its rank, because both use the same
// processors and the same memory. When a collective is resident depends on the compute before it,
// and how long compute takes depends on when collectives are resident. This class finds the
// timeline that satisfies both.
#pragma once

#include <span>
#include <vector>

#include "weft/sim/replay.h"

namespace weft::sim {

struct ContentionOptions {
  /// Rounds of iteration before the slower event-driven pass. Each round visits every slowed op
  /// once and updates what moved. Two to six rounds are usually enough.
  int max_rounds = 24;
};

struct ContentionResult {
  /// True if durations and timeline fit each other exactly. False only if a difference is left even
  /// after the event-driven pass, which rounding could cause in theory.
  bool converged = false;
  int rounds = 0;
  bool by_events = false;  ///< max_rounds were not enough, so the event-driven pass ran
  Nanos last_change = 0;   ///< largest change of a duration in the last round
};

/// The rule. A collective is resident on a rank from the start of the rank's kArrive op to the end
/// of the collective's transfer (of the arrival itself, if it has no transfer). An op's work
/// proceeds at full rate outside these times and `slowdown` times slower inside them. Its end is
/// rounded to the nearest nanosecond, counted from the last instant at which its rate changed.
/// Arrivals, transfers, pushes and pulls are never slowed, nor are ops on lanes without a rank.
class Contention {
 public:
  /// `slowdown`: one entry per op, > 0; 1.0 for ops that nothing slows. Keeps a reference to the
  /// graph.
  Contention(const graph::Graph& graph, std::span<const double> slowdown);

  /// Makes `replay` (of the same graph) the consistent timeline in which op i does `work[i]`
  /// nanoseconds of un-slowed work. The iteration starts from the present durations of the replay,
  /// so after a small change of `work` or delays it takes few rounds. The result does not depend on
  /// where it starts.
  ContentionResult settle(Replay& replay, std::span<const Nanos> work,
                          const ContentionOptions& options = {});

 private:
  struct Resident {
    graph::OpId arrival, release;
  };
  struct Slowed {
    graph::OpId op;
    double slowdown;
  };
  struct Interval {
    Nanos start, end;
  };
  struct Rank {
    std::vector<Resident> residents;
    std::vector<Slowed> slowed;
  };

  void find_intervals(const Replay& replay, const Rank& rank);
  Nanos slowed_duration(Nanos start, Nanos work, double slowdown) const;
  Nanos improve(Replay& replay, std::span<const Nanos> work);

  const graph::Graph* graph_;
  std::vector<Rank> ranks_;
  std::vector<double> slowdown_;     ///< 1.0 for ops that nothing slows
  std::vector<Interval> intervals_;  ///< scratch: residence on one rank, merged, sorted by time
};

}  // namespace weft::sim
