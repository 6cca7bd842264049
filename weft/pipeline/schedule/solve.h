// SPDX-License-Identifier: Apache-2.0
// The best schedule of a pipeline that can be found, and a bound that says how far from the best
// possible it may be. Fixed patterns and list schedules come first; then the search of search.h
// proves the shortest deadline that machines allow each for itself, and looks for a schedule that
// meets it. Where there are too many orders to search, it searches a corridor around the best
// schedule so far.
#pragma once

#include <functional>
#include <limits>

#include "weft/pipeline/schedule/schedule.h"

namespace weft::pipeline {

struct SolveOptions {
  /// Decisions of the search to try, about 50,000 a second: the same effort on every machine.
  std::int64_t decisions = 400'000;
  /// Edges of orders.h that the search may visit on the way, about 100 million a second.
  std::int64_t visits = std::numeric_limits<std::int64_t>::max();
  /// States of a machine up to which all its orders are searched.
  std::size_t most_states = std::size_t{1} << 17;
  /// Where there are more, search near the best schedule so far, as long as so many are there.
  std::size_t near_states = std::size_t{1} << 20;
  /// Where the best schedule is so close to what is left to try (one part in this), that will do.
  Nanos fine = std::numeric_limits<Nanos>::max();
  /// Asked now and then; true: return the best so far. What is found then depends on when.
  std::function<bool()> stop;
};

struct Solution {
  Schedule schedule;
  Nanos makespan = 0;        ///< by simulate()
  Nanos lower_bound = 0;     ///< no schedule ends earlier
  std::int64_t visited = 0;  ///< edges, by the search
  bool proved() const { return makespan == lower_bound; }
  double gap() const;  ///< of the bound: 0.01 is one percent
};

/// Fails where the pipeline does not pass check(), or no schedule fits into its memory
/// (kInfeasible; the message says whether that is proved).
Result<Solution> solve(const Pipeline& pipeline, const SolveOptions& options = {});

/// The same without the search: the best of all patterns and list schedules, bounds in closed form.
/// Microseconds; for planners that ask about many pipelines.
Result<Solution> solve_quickly(const Pipeline& pipeline);

}  // namespace weft::pipeline
