// SPDX-License-Identifier: Apache-2.0
// Predicts the step of a job whose steps follow each other for hours. The recorded steps are
// repeated several times, one after the other, and replayed with contention. The last repetition is
// the answer. The other repetitions are a warm-up, in which the host gets ahead of the device and
// the ranks reach a steady state.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "weft/base/result.h"
#include "weft/graph/edit.h"
#include "weft/graph/unroll.h"
#include "weft/predict/predict.h"
#include "weft/sim/contention.h"
#include "weft/sim/replay.h"

namespace weft::predict {

struct SteadyOptions {
  std::vector<std::int64_t> steps;  ///< the recorded steps to repeat
  int repetitions = 4;
  double slowdown = 1;  ///< how many times longer compute takes beside communication
};

/// The steady state of one graph. Changes of times are evaluated without building a new graph.
/// Several threads may use it at once.
class SteadyState {
 public:
  static Result<std::unique_ptr<const SteadyState>> make(const graph::Graph& graph,
                                                         const SteadyOptions& options);

  /// Returns the step after an edit that changes only times, without an error bar. It equals the
  /// step of a new steady state of the edited graph. If the edit changes a time twice, the last
  /// change counts.
  StepPrediction measure(const graph::Edit& times) const;
  /// Returns only the length of that step.
  Nanos step_with(const graph::Edit& times) const;

 private:
  /// For each op or edge of the recording, its copies: items[first[i]] to items[first[i + 1] - 1].
  struct Copies {
    std::vector<std::uint32_t> first, items;
    Copies(const std::vector<std::uint32_t>& origin, std::size_t size);
  };

  SteadyState(graph::Unrolled unrolled, const graph::Graph& recorded, const SteadyOptions& options);
  sim::Replay replay_with(const graph::Edit& times) const;

  const graph::Graph graph_;
  const Copies op_copies_, edge_copies_;
  const std::size_t steps_;  ///< number of steps in one repetition
  std::optional<sim::Contention> contention_;
  std::optional<sim::Replay> replay_;  ///< the steady state without changes
};

}  // namespace weft::predict
