// SPDX-License-Identifier: Apache-2.0
// Chooses which stages of a plan recompute under memory limits. Only tight stages are candidates:
// all other stages keep all micro-batches anyway. Evaluator calls this for every plan with tight
// stages.
#pragma once

#include <functional>
#include <vector>

#include "weft/pipeline/plan/evaluate.h"

namespace weft::pipeline {

/// Whether some device of the pipeline runs several stages.
inline bool shares_devices(const Pipeline& pipeline) {
  return pipeline.devices() < static_cast<DeviceId>(pipeline.stages.size());
}

/// The ops of one simulation: a forward and a backward per stage and micro-batch.
inline std::int64_t simulated_ops(const Pipeline& pipeline) {
  return 2 * static_cast<std::int64_t>(pipeline.stages.size()) * pipeline.micro_batches;
}

/// The plan whose stages may recompute.
struct RecomputationInput {
  const Task& task;
  const Pipeline& unlimited;        ///< the pipeline of the plan without memory limits
  std::vector<PlannedStage> plain;  ///< the stages of the plan, none of which recomputes
  /// The stages of the plan, with the caller's choice of stages that recompute.
  const std::vector<PlannedStage>& given;
  const std::vector<std::size_t>& tight;  ///< stages that may recompute, see tight_stages()
  Nanos limit = 0;                        ///< only steps below this are of interest
  Question question = Question::kStep;
  std::int64_t most_ops = 0;  ///< see Evaluator::stop_at()
};

/// The parts of the evaluator that the search uses.
struct RecomputationTools {
  ClusterCosts& costs;
  Pipeline& limited;  ///< a buffer for the pipeline of the current choice
  std::int64_t& ops;  ///< the counter of effort
  /// Evaluator::timed(): the answer to a question about one pipeline.
  std::function<Result<Evaluated>(const Pipeline&, const std::vector<PlannedStage>&, Nanos limit,
                                  Question)>
      time;
};

/// The best choice that was tried. Infeasible if none of them fits into memory under any schedule.
Result<Evaluated> search_recomputation(const RecomputationInput& input,
                                       const RecomputationTools& tools);

}  // namespace weft::pipeline
