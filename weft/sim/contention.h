// SPDX-License-Identifier: Apache-2.0
// Computes a timeline in which communication slows compute down. Compute takes longer while a
// collective is resident on its rank, because both use the same processors and the same memory. So
// compute and collectives depend on each other. The time at which a collective is resident depends
// on the compute before it. The length of compute depends on the times at which collectives are
// resident. The class Contention finds the timeline that fits both dependencies.
#pragma once

#include <span>
#include <vector>

#include "weft/sim/replay.h"

namespace weft::sim {

struct ContentionOptions {
  /// The largest number of rounds. If the timeline still changes after so many rounds, the slower
  /// event-driven pass runs. Each round visits every slowed op once and updates the times that
  /// changed. Two to six rounds are usually enough.
  int max_rounds = 24;
};

struct ContentionResult {
  /// True if the durations and the timeline fit each other exactly. False only if a difference is
  /// left even after the event-driven pass. In theory, rounding could cause such a difference.
  bool converged = false;
  int rounds = 0;
  bool by_events = false;  ///< max_rounds rounds were not enough, so the event-driven pass ran
  Nanos last_change = 0;   ///< largest change of a duration in the last round
};

/// Applies this rule. A collective is resident on a rank from the start of the rank's kArrive op to
/// the end of the collective's transfer (or of the arrival, if there is no transfer). Outside these
/// times an op's work proceeds at full rate. Inside them it is `slowdown` times slower. The end of
/// an op is rounded to the nearest nanosecond, counted from the last instant at which its rate
/// changed. Arrivals, transfers, pushes and pulls are never slowed. Ops on lanes without a rank are
/// never slowed either.
class Contention {
 public:
  /// `slowdown` has one entry per op, greater than 0. It is 1.0 for an op that nothing slows. Keeps
  /// a reference to the graph.
  Contention(const graph::Graph& graph, std::span<const double> slowdown);

  /// Sets the durations of `replay` (of the same graph) so that they fit its timeline. Op i does
  /// `work[i]` nanoseconds of work at full rate. The iteration starts from the present durations of
  /// the replay, so after a small change of `work` or of delays it takes few rounds. The result
  /// does not depend on where the iteration starts.
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
  std::vector<double> slowdown_;  ///< 1.0 for ops that nothing slows
  /// Scratch space: the intervals in which collectives are resident on one rank, sorted by time.
  /// Intervals that overlap are merged.
  std::vector<Interval> intervals_;
};

}  // namespace weft::sim
