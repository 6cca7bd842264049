// SPDX-License-Identifier: Apache-2.0
// What no schedule of a pipeline can beat, in closed form: cheap enough for planners that ask it
// for thousands of pipelines. solve() proves more, see search.h.
#pragma once

#include "weft/pipeline/model/pipeline.h"

namespace weft::pipeline {

struct Bounds {
  Nanos path = 0;  ///< one micro-batch, there and back
  Nanos work = 0;  ///< the busiest device: what comes before its ops, they themselves, what follows
  Nanos link = 0;  ///< the same of the busiest link
  Nanos memory = 0;  ///< forwards that must wait until gradients have freed memory for them

  Nanos best() const;
  const char* name() const;  ///< of the best: "path", "work", "link", "memory"
};

/// The pipeline must pass check(). Linear in ops, but for a logarithm.
Bounds lower_bounds(const Pipeline& pipeline);

/// The same from sums alone, in time linear in the stages: enough to turn most pipelines down. For
/// each device its work between the shortest ways to it and from it, and where devices have one
/// stage each, the sums of lookahead.h; and for each stage the rounds that its micro-batches take
/// there and back, as many at once as fit into its memory.
Nanos quick_bound(const Pipeline& pipeline);

}  // namespace weft::pipeline
