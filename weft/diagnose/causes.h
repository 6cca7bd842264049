// SPDX-License-Identifier: Apache-2.0
// Finds out what each rank spends its time on in each step.
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
  std::vector<CauseTimes> steps;  ///< one entry per complete step
  /// Mean over the complete steps, rounded so that its parts add up to its total.
  CauseTimes mean;
};

/// A timeline: when each op of the job's graph starts and ends.
struct Times {
  std::span<const Nanos> starts;
  std::span<const Nanos> ends;
};

/// Returns one entry per rank, in the order of `steps.ranks`. A step lasts from the end of the
/// previous step to its own end.
std::vector<RankCauses> find_causes(const predict::Job& job, const Times& times,
                                    const predict::StepTimes& steps);

/// Returns the complete steps as indices into steps.steps. A step is complete if every rank has it.
std::vector<std::size_t> complete_steps(const predict::StepTimes& steps);

}  // namespace weft::diagnose
