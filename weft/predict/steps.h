// SPDX-License-Identifier: Apache-2.0
// How long each step takes on each rank. The host runs ahead of the device, sometimes by whole
// steps, so a step is timed on the device: from the end of the device work of the step before to
// the end of its own. The sum over many steps is what a stop-watch would show.
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

  /// Mean over the steps in which the rank has work; 0 if there are none.
  Nanos mean(std::size_t rank_index) const;
  /// The largest of the ranks' means; 0 without ranks.
  Nanos slowest_mean() const;
};

/// The recorded steps. All functions here are linear in ops, times log of the number of steps.
StepTimes recorded_steps(const graph::Graph& graph);
/// The steps of a replay that has run.
StepTimes replayed_steps(const sim::Replay& replay);
/// The same for other simulators. `ends`: the end of every op.
StepTimes replayed_steps(const graph::Graph& graph, const std::vector<Nanos>& ends);

}  // namespace weft::predict
