// SPDX-License-Identifier: Apache-2.0
// Lower bounds for the makespan of every schedule of a pipeline, in closed form: cheap enough for
// planners that ask for thousands of pipelines. solve() proves tighter bounds by search (search.h).
#pragma once

#include "weft/pipeline/model/pipeline.h"

namespace weft::pipeline {

struct Bounds {
  Nanos path = 0;  ///< one micro-batch through all stages, forward and back
  /// The busiest device: the least time before its ops, all of its ops, the least time after them.
  Nanos work = 0;
  Nanos link = 0;    ///< the same for the busiest link
  Nanos memory = 0;  ///< forwards that must wait until gradients have freed memory for them

  Nanos best() const;
  const char* name() const;  ///< which of them is the best: "path", "work", "link", "memory"
};

/// The pipeline must pass check(). Takes time O(n log n) for n ops.
Bounds lower_bounds(const Pipeline& pipeline);

/// A weaker bound from sums alone, in time linear in the stages; enough for a planner to discard
/// most pipelines. It is the maximum of three bounds:
///   - per device: its work, between the shortest paths to it and from it;
///   - if every device has one stage: the sums of lookahead.h;
///   - per stage: the rounds that its micro-batches take to the end and back, if only so many at
///   once
///     fit into its memory.
Nanos quick_bound(const Pipeline& pipeline);

}  // namespace weft::pipeline
