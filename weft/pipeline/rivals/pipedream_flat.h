// SPDX-License-Identifier: Apache-2.0
// PipeDream's model where all machines are of one level: graphs that can be cut in hundreds of
// thousands of ways.
//
// Is there a plan whose stages all take at most T? A stage from set I to set J with r replicas
// takes (C(J) - C(I) + a (P(J) - P(I))) / r, so what counts of all sets I within J, on so many
// machines, is the largest C(I) + a P(I) of those that can be had and whose cut is cheap enough.
// That is a maximum over subsets, which one pass over the steps from set to set finds for all sets
// at once: time and memory grow with the steps, not with pairs of sets. The least T is found by
// halving.
#pragma once

#include "weft/pipeline/model/ideals.h"
#include "weft/pipeline/rivals/pipedream.h"

namespace weft::pipeline {

/// The stage from behind set `from` (-1: from the beginning) to the end of set `to`.
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

/// Numbers that solve_flat() keeps of each set.
std::size_t flat_numbers(std::int32_t machines);

}  // namespace weft::pipeline
