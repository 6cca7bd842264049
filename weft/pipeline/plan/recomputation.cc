// SPDX-License-Identifier: Apache-2.0
#include "weft/pipeline/plan/recomputation.h"

#include <algorithm>

#include "weft/pipeline/plan/rounds.h"

namespace weft::pipeline {
namespace {

/// A stage of the pipeline in both ways, and the channel behind it.
struct TwoWays {
  Nanos head = 0;  ///< until its first micro-batch is there
  Nanos forward = 0, reduce = 0, channel = 0;
  Way whole, again;

  /// The step at least, for the sake of this stage.
  Nanos step(Micro micro_batches, const Way& way, Nanos behind) const {
    const Nanos busy = busy_in_rounds(micro_batches, forward, way, behind);
    return head + std::max(micro_batches * way.work(), busy + way.later) + reduce;
  }
};

std::vector<TwoWays> ways_of(const Task& task, const std::vector<PlannedStage>& stages,
                             const Pipeline& pipeline) {
  std::vector<TwoWays> ways(stages.size());
  Nanos head = 0;
  for (std::size_t s = 0; s < stages.size(); ++s) {
    const PlannedStage& planned = stages[s];
    const Stage& stage = pipeline.stages[s];
    TwoWays& own = ways[s];
    own.head = head;
    own.forward = stage.forward;
    own.reduce = stage.all_reduce;
    const auto replicas = static_cast<std::int32_t>(planned.devices.size());
    const StageNeed need = stage_need(task, planned.first, planned.last, replicas);
    const Fits fits = fits_of(need, smallest_memory(task.cluster, planned.devices));
    const Nanos all = stage.forward + stage.input + stage.weight;
    own.whole.later = pipeline.split_backward ? stage.weight : 0;
    own.whole.path = all - own.whole.later;
    own.whole.fit = fits.whole;
    // Forward and backward of such a stage are rounded together.
    own.again.path = all + std::max<Nanos>(stage.forward - 1, 0);
    own.again.fit = fits.again;
    if (s + 1 == stages.size()) break;
    const auto& [there, back] = pipeline.boundaries[s];
    own.channel = there.time + there.latency + back.time + back.latency;
    head += stage.forward + there.time + there.latency;
  }
  return ways;
}

/// The longest of the stages, each in its better way, micro-batches passing the others whole.
Nanos longest(const std::vector<TwoWays>& ways, Micro micro_batches) {
  Nanos most = 0, behind = 0;
  for (std::size_t s = ways.size(); s-- > 0;) {
    const TwoWays& own = ways[s];
    if (own.whole.fit == 0) return kNothingFits;
    behind += own.channel;
    Nanos step = own.step(micro_batches, own.whole, behind);
    if (own.whole.fit < micro_batches && own.again.fit > 0) {
      step = std::min(step, own.step(micro_batches, own.again, behind));
    }
    most = std::max(most, step);
    behind += own.whole.path;
  }
  return most;
}

}  // namespace

Nanos bound_within_memory(const Task& task, const std::vector<PlannedStage>& stages,
                          const Pipeline& pipeline) {
  return longest(ways_of(task, stages, pipeline), task.micro_batches);
}

void guess_recomputation(const Task& task, const Pipeline& pipeline,
                         std::vector<PlannedStage>& stages) {
  const std::vector<TwoWays> ways = ways_of(task, stages, pipeline);
  Nanos most = longest(ways, task.micro_batches), behind = 0;
  for (std::size_t s = ways.size(); s-- > 0;) {
    const TwoWays& own = ways[s];
    behind += own.channel;
    stages[s].recompute = false;
    if (own.whole.fit > 0 && own.again.fit > 0) {
      const Nanos whole = own.step(task.micro_batches, own.whole, behind);
      const Nanos again = own.step(task.micro_batches, own.again, behind);
      stages[s].recompute = whole > most && again < whole;
      most = std::max(most, std::min(whole, again));
    }
    behind += stages[s].recompute ? own.again.path : own.whole.path;
  }
}

}  // namespace weft::pipeline
