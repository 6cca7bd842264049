// SPDX-License-Identifier: Apache-2.0
// PipeDream's optimizer, in its own model: the steady state of an asynchronous pipeline, where the
// slowest stage is all that counts. A level is a number of machines and the bandwidth between them;
// the machines of a level are made of those of the level before.
//
// With r replicas a stage of compute time C and parameters P takes (C + 4 (r-1)/r P/b) / r, a cut
// of A bytes 2 A/(b r) on the stage behind it and on the one before, but for the first stage. The
// first stage of a level divides its parameters' share by the machines of the level before, later
// ones do not. Exactly all machines are used. These rules are PipeDream's, with activation
// compression ratio 1.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/pipeline/model/profile.h"

namespace weft::pipeline {

struct PipedreamLevel {
  std::int32_t machines = 1;
  std::int64_t bandwidth = 0;  ///< bytes a second
};

struct PipedreamStage {
  std::vector<std::int32_t> layers;  ///< of the profile
  std::int32_t replicas = 1;         ///< devices, over all levels
};

struct PipedreamAnswer {
  Nanos bottleneck = 0;  ///< of a mini-batch
  std::size_t states = 0;
  std::vector<PipedreamStage> stages;
};

/// As its optimizer sees a graph: sources named Input and sinks named __getitem__ are left out.
/// `kept` tells which layers of the profile are in it, in their order.
Profile without_inputs(const Profile& profile, std::vector<std::int32_t>& kept);

/// Levels from the innermost. Infeasible where there are more cuts than can be tried.
Result<PipedreamAnswer> solve_pipedream(const Profile& profile,
                                        const std::vector<PipedreamLevel>& levels);

}  // namespace weft::pipeline
