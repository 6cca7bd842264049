// SPDX-License-Identifier: Apache-2.0
// The steps that a job took without profiler, before and after the recorded steps. `weft record`
// writes their lengths beside the trace. They show whether the recorded steps are typical, and
// whether the prediction of the step without profiler is right.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "weft/base/diagnostics.h"
#include "weft/trace/events.h"
#include "weft/trace/runs/job_facts.h"

namespace weft::predict {

struct UnprofiledSteps {
  std::int64_t count = 0;
  Nanos median = 0;
  Nanos low = 0,
        high = 0;  ///< a tenth of the steps is shorter than `low`, a tenth longer than `high`
};

/// The lengths of the unprofiled steps, each on the rank on which it took longest. The first steps
/// of a job do not count, because they allocate and compile. nullopt if fewer than three steps are
/// left.
std::optional<UnprofiledSteps> unprofiled_steps(
    const std::vector<std::vector<trace::UnprofiledStep>>& ranks);
/// Reads them from the files beside the traces of the run.
std::optional<UnprofiledSteps> unprofiled_steps(const trace::Run& run);

struct StepPrediction;
/// Whether the baseline fits the unprofiled steps: their median is within the error bar of the
/// baseline, or at most 15 % away from the baseline.
bool is_typical(const UnprofiledSteps& unprofiled, const StepPrediction& baseline);

struct ReplaySummary;
/// Adds a warning if the baseline of the summary does not fit its unprofiled steps.
void warn_untypical(const ReplaySummary& summary, Diagnostics& diagnostics);

}  // namespace weft::predict
