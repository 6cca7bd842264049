// SPDX-License-Identifier: Apache-2.0
// How long a step takes on a rank. The host runs ahead of the device, by whole steps sometimes, so
// the length of a step is the time between the end of its device work and that of the step before:
// what a stop-watch around many steps would show.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/graph/graph.h"
#include "weft/sim/replay.h"

namespace weft::predict {

struct StepTimes {
  std::vector<std::int64_t> steps;  ///< numbers, in order
  std::vector<std::int32_t> ranks;  ///< in order
  /// period[rank index][step index]; -1 where the rank has no work in the step.
  std::vector<std::vector<Nanos>> period;
  /// end[rank index][step index]: when the step was over on that rank; -1 likewise.
  std::vector<std::vector<Nanos>> end;

  /// Mean over the steps that rank has.
  Nanos mean(std::size_t rank_index) const;
  /// The largest of the ranks' means; 0 without ranks.
  Nanos slowest_mean() const;
};

/// As recorded.
StepTimes recorded_steps(const graph::Graph& graph);
/// In a replay that has run, with its own durations.
StepTimes replayed_steps(const sim::Replay& replay);
/// The same from the end of every op, for other simulators.
StepTimes replayed_steps(const graph::Graph& graph, const std::vector<Nanos>& ends);

}  // namespace weft::predict
