// SPDX-License-Identifier: Apache-2.0
// Both functions walk over the stages from last to first and add up the round trip of a micro-batch
// behind the current stage, because a stage with little memory must wait for that round trip.
#include "weft/pipeline/plan/recomputation.h"

#include <algorithm>

#include "weft/pipeline/plan/rounds.h"

namespace weft::pipeline {
namespace {

/// The times of a stage in each of its two modes, and of the channel behind it.
struct StageModes {
  Nanos head = 0;  ///< time until the first micro-batch arrives at the stage
  Nanos forward = 0, reduce = 0, channel = 0;
  StageMode keeping, recomputing;

  /// A lower bound of the step from this stage alone.
  Nanos step(Micro micro_batches, const StageMode& mode, Nanos behind) const {
    const Nanos busy = busy_in_rounds(micro_batches, forward, mode, behind);
    return head + std::max(micro_batches * mode.work(), busy + mode.later) + reduce;
  }
};

std::vector<StageModes> modes_of(const Task& task, const std::vector<PlannedStage>& stages,
                                 const Pipeline& pipeline) {
  std::vector<StageModes> modes(stages.size());
  Nanos head = 0;
  for (std::size_t s = 0; s < stages.size(); ++s) {
    const PlannedStage& planned = stages[s];
    const Stage& stage = pipeline.stages[s];
    StageModes& own = modes[s];
    own.head = head;
    own.forward = stage.forward;
    own.reduce = stage.all_reduce;
    const auto replicas = static_cast<std::int32_t>(planned.devices.size());
    const StageNeed need = stage_need(task, planned.first, planned.last, replicas);
    const Fits fits = fits_of(need, smallest_memory(task.cluster, planned.devices));
    const Nanos all = stage.forward + stage.input + stage.weight;
    own.keeping.later = pipeline.split_backward ? stage.weight : 0;
    own.keeping.path = all - own.keeping.later;
    own.keeping.fit = fits.keeping;
    // set_times() rounds the recomputed forward and the backward together. The result may be one
    // nanosecond less than the sum of the two rounded times.
    own.recomputing.path = all + std::max<Nanos>(stage.forward - 1, 0);
    own.recomputing.fit = fits.recomputing;
    if (s + 1 == stages.size()) break;
    const auto& [forward, backward] = pipeline.boundaries[s];
    own.channel = forward.time + forward.latency + backward.time + backward.latency;
    head += stage.forward + forward.time + forward.latency;
  }
  return modes;
}

/// The largest of the stages' lower bounds, each stage in its better mode. The round trip behind a
/// stage assumes that all later stages keep their activations, because this mode is shorter.
Nanos longest(const std::vector<StageModes>& modes, Micro micro_batches) {
  Nanos most = 0, behind = 0;
  for (std::size_t s = modes.size(); s-- > 0;) {
    const StageModes& own = modes[s];
    if (own.keeping.fit == 0) return kNothingFits;
    behind += own.channel;
    Nanos step = own.step(micro_batches, own.keeping, behind);
    if (own.keeping.fit < micro_batches && own.recomputing.fit > 0) {
      step = std::min(step, own.step(micro_batches, own.recomputing, behind));
    }
    most = std::max(most, step);
    behind += own.keeping.path;
  }
  return most;
}

}  // namespace

Nanos bound_within_memory(const Task& task, const std::vector<PlannedStage>& stages,
                          const Pipeline& pipeline) {
  return longest(modes_of(task, stages, pipeline), task.micro_batches);
}

void guess_recomputation(const Task& task, const Pipeline& pipeline,
                         std::vector<PlannedStage>& stages) {
  const std::vector<StageModes> modes = modes_of(task, stages, pipeline);
  // `most` is the target for all stages. The longest stage takes at least this long in either mode,
  // so nothing is gained if another stage becomes shorter than this. The target grows, because the
  // choice for a later stage can lengthen the round trip of earlier stages.
  Nanos most = longest(modes, task.micro_batches), behind = 0;
  for (std::size_t s = modes.size(); s-- > 0;) {
    const StageModes& own = modes[s];
    behind += own.channel;
    stages[s].recompute = false;
    if (own.keeping.fit > 0 && own.recomputing.fit > 0) {
      const Nanos keeping = own.step(task.micro_batches, own.keeping, behind);
      const Nanos recomputing = own.step(task.micro_batches, own.recomputing, behind);
      stages[s].recompute = keeping > most && recomputing < keeping;
      most = std::max(most, std::min(keeping, recomputing));
    }
    behind += stages[s].recompute ? own.recomputing.path : own.keeping.path;
  }
}

}  // namespace weft::pipeline
