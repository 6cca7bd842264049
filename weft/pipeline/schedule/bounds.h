// SPDX-License-Identifier: Apache-2.0
// Computes lower bounds for the makespan of every schedule of a pipeline, in closed form. They are
// cheap enough for planners that ask for the bounds of thousands of pipelines. solve() proves
// tighter bounds by a search (search.h).
#pragma once

#include "weft/pipeline/model/pipeline.h"

namespace weft::pipeline {

struct Bounds {
  Nanos path = 0;  ///< the time of one micro-batch through all stages, forward and back
  /// The bound from the busiest device: the least time for all of its ops, given the least time
  /// before the start and after the end of each op.
  Nanos work = 0;
  Nanos link = 0;    ///< the bound from the busiest link, computed in the same way
  Nanos memory = 0;  ///< the bound from forwards that wait for memory

  Nanos best() const;
  const char* name() const;  ///< the name of the largest bound: "path", "work", "link", "memory"
};

/// The pipeline must pass check(). Takes time O(n log n) for n ops.
Bounds lower_bounds(const Pipeline& pipeline);

/// A weaker bound from sums alone, in time linear in the stages; enough for a planner to discard
/// most pipelines. It is the maximum of three bounds:
/// - per device: the sum of the shortest time to reach the device, all work of the device, and the
///   shortest time from it to the end of the step;
/// - if every device has one stage: the sums of lookahead.h;
/// - per stage: if only K micro-batches fit into its memory at once, they pass the later stages
///   forward and back in rounds of K. The bound is the time of all rounds.
Nanos quick_bound(const Pipeline& pipeline);

}  // namespace weft::pipeline
