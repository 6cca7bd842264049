// SPDX-License-Identifier: Apache-2.0
// What might be taken out of a job: one function for each kind of finding. A suspect is a finding
// whose gain is not known yet.
#pragma once

#include <vector>

#include "weft/diagnose/findings.h"
#include "weft/graph/graph.h"
#include "weft/sim/replay.h"

namespace weft::diagnose {

/// What all suspects are judged by.
struct Evidence {
  const predict::Job& job;
  const graph::Graph& graph;  ///< working_graph()
  const sim::Replay& replay;  ///< of it
  const predict::StepTimes& steps;
  const sim::StragglerReport* stragglers;  ///< nullptr: one rank only
};

std::vector<Finding> slow_ranks(const Evidence& evidence);  ///< straggler, host_stalls, imbalance
std::vector<Finding> slow_steps(const Evidence& evidence);  ///< slow_step
std::vector<Finding> communication(
    const Evidence& evidence);                             ///< exposed_communication, collective
std::vector<Finding> host_work(const Evidence& evidence);  ///< host_bound, data_loading, host_sync
std::vector<Finding> device_work(const Evidence& evidence);  ///< memory_copies, small_kernels, gaps
std::vector<Finding> profiler_cost(const Evidence& evidence);  ///< profiler

/// From the removal: rank, step and lane it costs most, the ranks it concerns, time and count.
void locate(const Evidence& evidence, Finding& finding);

}  // namespace weft::diagnose
