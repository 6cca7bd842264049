// SPDX-License-Identifier: Apache-2.0
// Reimplements PipeDream's optimizer with PipeDream's own cost model: the steady state of an
// asynchronous pipeline, in which only the slowest stage counts. Machines form levels: a level is a
// number of machines and the bandwidth between them, and each machine of a level consists of all
// machines of the level before.
//
// The rules, with activation compression ratio 1:
// * A stage with r replicas, compute time C and P bytes of parameters takes (C + 4 (r-1)/r P/b) / r
//   for bandwidth b.
// * A cut of A bytes takes 2 A / (b r) on the stage behind it and on the stage before it. The
//   outgoing cut of the first stage does not count for the first stage itself.
// * The first stage of a level divides the parameter term by the number of machines of the level
//   before; later stages do not.
// * All machines are used.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/pipeline/model/profile.h"

namespace weft::pipeline {

struct PipedreamLevel {
  std::int32_t machines = 1;
  std::int64_t bandwidth = 0;  ///< bytes per second
};

struct PipedreamStage {
  std::vector<std::int32_t> layers;  ///< indices into Profile::layers
  std::int32_t replicas = 1;         ///< number of devices over all levels
};

struct PipedreamAnswer {
  Nanos bottleneck = 0;    ///< time of the slowest stage per mini-batch
  std::size_t states = 0;  ///< number of ways to cut the graph (ideals)
  std::vector<PipedreamStage> stages;
};

/// The graph as PipeDream's optimizer sees it: without sources named Input... and sinks named
/// __getitem__... . `kept` receives the layers of the profile that remain, in their order.
Profile without_inputs(const Profile& profile, std::vector<std::int32_t>& kept);

/// Levels are listed from the innermost outwards. Infeasible if the graph can be cut in more ways
/// than fit into the tables (800 MB).
Result<PipedreamAnswer> solve_pipedream(const Profile& profile,
                                        const std::vector<PipedreamLevel>& levels);

}  // namespace weft::pipeline
