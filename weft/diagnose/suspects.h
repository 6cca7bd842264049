// SPDX-License-Identifier: Apache-2.0
// Functions that look for findings. Each returns suspects: findings whose gain is not known yet and
// whose removal may be empty.
#pragma once

#include <vector>

#include "weft/diagnose/findings.h"
#include "weft/graph/graph.h"
#include "weft/sim/replay.h"

namespace weft::diagnose {

/// The data that all these functions use.
struct Evidence {
  const predict::Job& job;
  const graph::Graph& graph;               ///< working_graph(job)
  const sim::Replay& replay;               ///< a replay of `graph` that has run
  const predict::StepTimes& steps;         ///< the steps of that replay
  const sim::StragglerReport* stragglers;  ///< nullptr if there is only one rank
};

std::vector<Finding> slow_ranks(const Evidence& evidence);  ///< straggler, host_stalls, imbalance
std::vector<Finding> slow_steps(const Evidence& evidence);  ///< slow_step
std::vector<Finding> communication(
    const Evidence& evidence);                             ///< exposed_communication, collective
std::vector<Finding> host_work(const Evidence& evidence);  ///< host_bound, data_loading, host_sync
std::vector<Finding> device_work(const Evidence& evidence);  ///< memory_copies, small_kernels, gaps
std::vector<Finding> profiler_cost(const Evidence& evidence);  ///< profiler

/// Fills, from the removal of the finding, its rank, step, lane, ranks, time, count and ops.
void locate(const Evidence& evidence, Finding& finding);

}  // namespace weft::diagnose
