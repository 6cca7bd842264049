// SPDX-License-Identifier: Apache-2.0
// Computes how long each step takes on each rank. The host runs ahead of the device, sometimes by
// whole steps. So the length of a step is measured on the device. It is the time from the end of
// the previous step's device work to the end of the step's own device work. The lengths of many
// steps add up to the time that passes while they run.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/graph/graph.h"
#include "weft/sim/replay.h"

namespace weft::predict {

struct StepTimes {
  std::vector<std::int64_t> steps;  ///< step numbers, sorted
  std::vector<std::int32_t> ranks;  ///< sorted
  /// period[rank index][step index]: length of the step; -1 if the rank has no work in it.
  std::vector<std::vector<Nanos>> period;
  /// end[rank index][step index]: when the step is over on that rank; -1 if it has no work in it.
  std::vector<std::vector<Nanos>> end;

  /// Returns the mean over the steps in which the rank has work, or 0 if there are none.
  Nanos mean(std::size_t rank_index) const;
  /// Returns the largest of the ranks' means, or 0 without ranks.
  Nanos slowest_mean() const;
};

/// Returns the steps of the recording. All functions here take O(n log s) for n ops and s steps.
StepTimes recorded_steps(const graph::Graph& graph);
/// Returns the steps of a replay whose run() has been called.
StepTimes replayed_steps(const sim::Replay& replay);
/// Returns the steps for the results of another simulator. `ends` has the end of every op.
StepTimes replayed_steps(const graph::Graph& graph, const std::vector<Nanos>& ends);

}  // namespace weft::predict
