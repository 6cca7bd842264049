// SPDX-License-Identifier: Apache-2.0
#include "weft/pipeline/plan/plan_context.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace weft::pipeline {

bool keeps_to_memory(const Task& task, const Evaluated& plan, Schedule& schedule) {
  // Without tight stages the pipeline has no limits, so the same schedule fits and takes as long.
  const auto pipeline = pipeline_of(task, plan.stages);
  if (!pipeline) return false;
  if (fits(*pipeline, schedule)) return true;
  auto within = plan_schedule(*pipeline, plan.schedule);
  if (!within) return false;
  const auto timeline = simulate(*pipeline, *within);
  if (!timeline || !fits(*pipeline, *timeline) || timeline->makespan != plan.step) return false;
  schedule = std::move(*within);
  return true;
}

bool breaks_memory(const PlanContext& context, const Evaluated& plan) {
  if (!context.with_limits || plan.step == kNoStep) return false;
  auto schedule = context.evaluator.schedule_of(plan);
  return schedule && !keeps_to_memory(*context.with_limits, plan, *schedule);
}

void take_if_shorter(const PlanContext& context, const std::vector<PlannedStage>& stages,
                     Evaluated& best) {
  if (stages.empty()) return;
  const std::int32_t required = context.options.stages;
  if (required > 0 && static_cast<std::int32_t>(stages.size()) != required) return;
  const auto result = context.evaluator.improve(stages, best.step);
  if (result && result->step < best.step) best = *result;
}

bool take_even_plans(const PlanContext& context, std::initializer_list<Placement> placements,
                     Evaluated& best) {
  if (!context.task.limit_memory || context.task.cluster.devices > kMostForOrders) return false;
  const Nanos before = best.step;
  context.evaluator.stop_at(context.evaluator.ops() + context.budget.even_plans());
  for (const Placement placement : placements) {
    const auto plans = even_stages(context.task, placement);
    if (!plans) continue;
    for (const auto& stages : *plans) take_if_shorter(context, stages, best);
  }
  return best.step < before;
}

Evaluated climb(const PlanContext& context, std::int64_t until, Evaluated plan) {
  const ImproveLimits limits{context.options.stages, context.options.replicas, until};
  return improve(context.task, context.evaluator, limits, std::move(plan));
}

double total_speed(const Task& task) {
  return std::accumulate(task.cluster.speed.begin(), task.cluster.speed.end(), 0.0);
}

Nanos least_work(const Task& task) {
  const LayerChain& chain = task.chain;
  const auto work = static_cast<double>(chain.forward.back() + chain.backward.back());
  const Nanos rounding = 4 * static_cast<Nanos>(task.cluster.devices) * task.micro_batches;
  return std::max<Nanos>(
      static_cast<Nanos>(work * task.micro_batches / total_speed(task)) - rounding, 0);
}

}  // namespace weft::pipeline
