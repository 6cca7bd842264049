// SPDX-License-Identifier: Apache-2.0
// Finds a short schedule for given stages, and a lower bound that says how far it can be from the
// shortest one. First it tries known patterns and list schedules. Then it finds the shortest
// deadline that propagation (search.h) cannot rule out: this deadline is the lower bound. Then it
// searches for a schedule that meets the bound. If there are too many orders, it searches only near
// the best schedule so far.
#pragma once

#include <functional>
#include <limits>

#include "weft/pipeline/schedule/schedule.h"

namespace weft::pipeline {

struct SolveOptions {
  /// Limits the effort: the search tries at most this many decisions, about 50,000 per second.
  std::int64_t decisions = 400'000;
  /// Limits the effort: the search visits at most this many edges of the graphs in orders.h, about
  /// 100 million per second. Neither this limit nor `decisions` depends on the speed of the
  /// computer, so the schedule is the same everywhere.
  std::int64_t visits = std::numeric_limits<std::int64_t>::max();
  /// All orders are searched if no device has more states than this.
  std::size_t most_states = std::size_t{1} << 17;
  /// If a device has more than `most_states` states, only orders near the best schedule are
  /// searched, as long as these have at most this many states.
  std::size_t near_states = std::size_t{1} << 20;
  /// The search ends if the best schedule is at most 1/fine above the shortest deadline that is
  /// still worth trying.
  Nanos fine = std::numeric_limits<Nanos>::max();
  /// Called often; once it returns true, solve() returns the best schedule so far. The result then
  /// depends on the speed of the computer.
  std::function<bool()> stop;
};

struct Solution {
  Schedule schedule;
  Nanos makespan = 0;        ///< as simulate() gives it
  Nanos lower_bound = 0;     ///< no schedule ends earlier
  std::int64_t visited = 0;  ///< edges that the search visited: its effort
  bool proved() const { return makespan == lower_bound; }
  double gap() const;  ///< (makespan - lower_bound) / lower_bound; 0.01 is one per cent
};

/// Fails if the pipeline does not pass check(), or with kInfeasible if no schedule was found that
/// fits into its memory; the message says whether it is proved that no such schedule exists.
Result<Solution> solve(const Pipeline& pipeline, const SolveOptions& options = {});

/// Like solve(), but without search: returns the best of all known patterns and list schedules, and
/// the bounds of bounds.h. Takes microseconds; for planners that ask about many pipelines.
Result<Solution> solve_quickly(const Pipeline& pipeline);

}  // namespace weft::pipeline
