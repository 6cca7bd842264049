// SPDX-License-Identifier: Apache-2.0
#include "weft/pipeline/rivals.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "weft/pipeline/bottleneck.h"
#include "weft/pipeline/dapple.h"
#include "weft/pipeline/device_orders.h"
#include "weft/pipeline/pipedream.h"

namespace weft::pipeline {
namespace {

std::vector<PlannedStage> even_stages(const Task& task) {
  const LayerChain& chain = task.chain;
  const std::int32_t stages = std::min(chain.size(), task.cluster.devices);
  const double total = static_cast<double>(chain.forward.back() + chain.backward.back());
  std::vector<PlannedStage> plan;
  std::int32_t first = 0;
  for (std::int32_t s = 0; s < stages; ++s) {
    std::int32_t last = first + 1;
    const auto work = [&](std::int32_t i) {
      return static_cast<double>(chain.forward[i] + chain.backward[i]);
    };
    while (last < chain.size() - (stages - 1 - s) && work(last) < total * (s + 1) / stages) ++last;
    if (s + 1 == stages) last = chain.size();
    plan.push_back({first, last, {s}, false});
    first = last;
  }
  return plan;
}

Result<Evaluated> spp(const Task& task) {
  Evaluator evaluator(task, {"pe"});
  Result<Evaluated> best = fail(ErrorCode::kInfeasible, "SPP's planner finds no plan");
  const GroupGraph graph = ordered_groups(task.cluster, recursive_order(task.cluster), {});
  const std::int32_t most = std::min(task.chain.size(), task.cluster.devices);
  for (const auto& plan : bottleneck_plans(task, graph, most)) {
    const auto result = evaluator.evaluate(plan);
    if (result && (!best || result->step < best->step)) best = *result;
  }
  return best;
}

/// The chain as PipeDream would see it, all links as slow as the slowest.
Result<std::vector<PlannedStage>> pipedream_stages(const Task& task) {
  const LayerChain& chain = task.chain;
  Profile profile;
  profile.name = "chain";
  for (std::int32_t i = 0; i < chain.size(); ++i) {
    Layer layer;
    layer.id = std::to_string(i);
    layer.forward = chain.forward[i + 1] - chain.forward[i];
    layer.backward = chain.backward[i + 1] - chain.backward[i];
    layer.parameters = chain.parameters[i + 1] - chain.parameters[i];
    layer.activation = chain.cut[i + 1];
    profile.layers.push_back(std::move(layer));
    if (i > 0) profile.edges.push_back({i - 1, i});
  }
  std::int64_t slowest = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t bandwidth : task.cluster.bandwidth) {
    if (bandwidth > 0) slowest = std::min(slowest, bandwidth);
  }
  WEFT_ASSIGN(const PipedreamAnswer answer,
              solve_pipedream(profile, {{task.cluster.devices, slowest}}));
  std::vector<PlannedStage> plan;
  std::int32_t device = 0;
  for (const PipedreamStage& stage : answer.stages) {
    PlannedStage planned{stage.layers.front(), stage.layers.back() + 1, {}, false};
    for (std::int32_t r = 0; r < stage.replicas; ++r) planned.devices.push_back(device++);
    plan.push_back(std::move(planned));
  }
  return plan;
}

}  // namespace

std::vector<std::string> rivals() { return {"spp", "pipedream", "dapple", "1f1b", "gpipe"}; }

Result<Evaluated> rival_plan(const Task& task, const std::string& name) {
  if (name == "spp") return spp(task);
  if (name == "1f1b" || name == "gpipe") return Evaluator(task, {name}).evaluate(even_stages(task));
  Evaluator evaluator(task, {"1f1b"});
  if (name == "pipedream") {
    WEFT_ASSIGN(const std::vector<PlannedStage> stages, pipedream_stages(task));
    return evaluator.evaluate(stages);
  }
  if (name == "dapple") return evaluator.evaluate(dapple_stages(task));
  return fail(ErrorCode::kUsage, fmt::format("there is no rival '{}'", name));
}

}  // namespace weft::pipeline
