// SPDX-License-Identifier: Apache-2.0
// Where the time of every rank goes, step by step.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "weft/predict/job.h"
#include "weft/predict/steps.h"
#include "weft/sim/causes.h"

namespace weft::diagnose {

using sim::Cause;
using sim::cause_name;
using sim::CauseTimes;
using sim::kCauses;

struct RankCauses {
  std::int32_t rank = -1;
  std::vector<CauseTimes> steps;  ///< one for each complete step
  /// Mean over the complete steps, rounded so that its parts still add up to its total.
  CauseTimes mean;
};

/// A timeline: when each op of the job's graph starts and ends.
struct Times {
  std::span<const Nanos> starts;
  std::span<const Nanos> ends;
};

/// By rank, in the order of `steps.ranks`. The window of a step is its period: from the end of the
/// step before to its own end.
std::vector<RankCauses> find_causes(const predict::Job& job, const Times& times,
                                    const predict::StepTimes& steps);

/// Indices into steps.steps of those that every rank has.
std::vector<std::size_t> complete_steps(const predict::StepTimes& steps);

}  // namespace weft::diagnose
