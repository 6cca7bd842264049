// SPDX-License-Identifier: Apache-2.0
// Solves PipeDream's model for a single level of machines. This solver handles graphs with hundreds
// of thousands of ideals, for which a table over pairs of ideals would be too large.
//
// The optimizer bisects over T: is there a plan whose stages all take at most T? A stage between
// ideals I and J with r replicas takes (C(J) - C(I) + a (P(J) - P(I))) / r, where C is compute, P
// parameters, and a the all-reduce time per byte with r replicas. For given J, r and number of
// machines before the stage, it suffices to know the ideal I inside J with the largest
// C(I) + a P(I), among the ideals that are reachable with that number of machines and whose cut
// takes at most T. This maximum over subsets is propagated from each ideal to its direct successors
// (Ideals::before). So time and memory are linear in the number of such steps.
#pragma once

#include "weft/pipeline/model/ideals.h"
#include "weft/pipeline/rivals/pipedream.h"

namespace weft::pipeline {

/// The stage with the layers that are in ideal `to` but not in ideal `from`; -1: the first stage.
struct FlatStage {
  std::int64_t from = -1;
  std::size_t to = 0;
  std::int32_t replicas = 1;
};

struct FlatPlan {
  double bottleneck = 0;  ///< nanoseconds
  std::vector<FlatStage> stages;
};

FlatPlan solve_flat(const Ideals& ideals, const PipedreamLevel& level);

/// How many numbers solve_flat() keeps per ideal.
std::size_t flat_numbers(std::int32_t machines);

}  // namespace weft::pipeline
