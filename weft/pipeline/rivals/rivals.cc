// SPDX-License-Identifier: Apache-2.0
// Each rival gives a list of PlannedStage and the name of a schedule. So the same Evaluator can
// time all rivals.
#include "weft/pipeline/rivals/rivals.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "weft/base/counted.h"
#include "weft/pipeline/rivals/bottleneck.h"
#include "weft/pipeline/rivals/dapple.h"
#include "weft/pipeline/rivals/device_orders.h"
#include "weft/pipeline/rivals/even_cut.h"
#include "weft/pipeline/rivals/pipedream.h"

namespace weft::pipeline {

Result<std::vector<std::vector<PlannedStage>>> even_stages(const Task& task, Placement placement) {
  const LayerChain& chain = task.chain;
  const std::int32_t chunks = placement == Placement::kOnePerDevice ? 1 : 2;
  const std::int32_t devices = std::min(chain.size() / chunks, task.cluster.devices);
  const std::int32_t stages = devices * chunks;
  if (stages == 0) {
    return fail(ErrorCode::kInfeasible,
                fmt::format("two stages per device need two layers, but the model has {}",
                            counted(chain.size(), "layer")));
  }
  std::vector<PlannedStage> plan;
  std::vector<double> speeds;
  for (std::int32_t s = 0; s < stages; ++s) {
    const std::int32_t device =
        placement == Placement::kV ? std::min(s, stages - 1 - s) : s % devices;
    plan.push_back({0, 0, {device}, false});
    speeds.push_back(task.cluster.speed[device]);
  }
  std::vector<std::vector<PlannedStage>> plans;
  for (const auto& ends : {even_cut(chain, speeds), proportional_cut(chain, stages)}) {
    for (std::int32_t s = 0; s < stages; ++s) {
      plan[s].first = s > 0 ? ends[s - 1] : 0;
      plan[s].last = ends[s];
    }
    plans.push_back(plan);
  }
  return plans;
}

namespace {

Placement placement_of(const std::string& name) {
  if (name == "interleaved") return Placement::kRoundRobin;
  return name == "zb-v" || name == "dualpipe-v" ? Placement::kV : Placement::kOnePerDevice;
}

/// Times one plan. The evaluator only reports that no schedule worked, so the schedule is built
/// here first to get its error message.
Result<Evaluated> timed_as(const Task& task, const std::string& name,
                           const std::vector<PlannedStage>& stages) {
  WEFT_ASSIGN(const Pipeline pipeline, pipeline_of(task, stages));
  if (const auto schedule = plan_schedule(pipeline, name); !schedule) {
    return fail(ErrorCode::kInfeasible, schedule.error().message);
  }
  return Evaluator(task, {name}).evaluate(stages);
}

/// The better of the even cuts for this schedule.
Result<Evaluated> even_plan(const Task& task, const std::string& name) {
  WEFT_ASSIGN(const auto plans, even_stages(task, placement_of(name)));
  Result<Evaluated> best = timed_as(task, name, plans.front());
  for (const auto& stages : plans) {
    auto result = timed_as(task, name, stages);
    if (result && (!best || result->step < best->step)) best = std::move(result);
  }
  return best;
}

/// SPP's planner.
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

/// PipeDream's plan. Its optimizer has one bandwidth per level, so every link counts as slow as the
/// slowest link.
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

std::vector<std::string> rivals() {
  return {"spp",   "pipedream", "dapple",      "gpipe", "1f1b",
          "zb-h1", "zb-auto",   "interleaved", "zb-v",  "dualpipe-v"};
}

Result<Evaluated> rival_plan(const Task& task, const std::string& name) {
  const std::vector<std::string> known = rivals();
  if (std::find(known.begin(), known.end(), name) == known.end()) {
    return fail(ErrorCode::kUsage, fmt::format("there is no planner '{}'", name));
  }
  if (name == "spp") return spp(task);
  Evaluator evaluator(task, {"1f1b"});
  if (name == "pipedream") {
    WEFT_ASSIGN(const std::vector<PlannedStage> stages, pipedream_stages(task));
    return evaluator.evaluate(stages);
  }
  if (name == "dapple") return evaluator.evaluate(dapple_stages(task));
  return even_plan(task, name);
}

Result<PlanFigures> figures_of(const Task& task, const Evaluated& plan) {
  WEFT_ASSIGN(const Pipeline limited, pipeline_of(task, plan.stages));
  WEFT_ASSIGN(const Schedule schedule, plan_schedule(limited, plan.schedule));
  // Pipelines have memory figures only under limits, so set limits that are never reached.
  Task counting = task;
  counting.limit_memory = true;
  std::fill(counting.cluster.memory.begin(), counting.cluster.memory.end(), 0);
  WEFT_ASSIGN(const Pipeline pipeline, pipeline_of(counting, plan.stages));
  WEFT_ASSIGN(const Timeline timeline, simulate(pipeline, schedule));
  const std::vector<DeviceId> groups = groups_of(plan.stages);
  // A pipeline device stands for a whole group, so its busy time counts once per device.
  std::vector<std::size_t> sizes(timeline.ops.size());
  for (std::size_t s = 0; s < groups.size(); ++s) sizes[groups[s]] = plan.stages[s].devices.size();
  double busy = 0;
  for (std::size_t group = 0; group < sizes.size(); ++group) {
    for (const Span& span : timeline.ops[group]) {
      busy += static_cast<double>(span.end - span.start) * static_cast<double>(sizes[group]);
    }
  }
  PlanFigures figures;
  const double all = static_cast<double>(timeline.makespan) * task.cluster.devices;
  figures.idle = all > 0 ? 1 - busy / all : 0;
  const std::vector<Bytes> state = static_memory(counting, plan.stages);
  for (std::size_t group = 0; group < state.size(); ++group) {
    figures.most_memory = std::max(figures.most_memory, state[group] + timeline.peaks[group]);
  }
  return figures;
}

}  // namespace weft::pipeline
