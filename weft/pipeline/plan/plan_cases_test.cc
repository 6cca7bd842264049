// SPDX-License-Identifier: Apache-2.0
// Runs the golden cases in tests/cases/pipeline_plans. The input of a case is a profile in JSON, a
// cluster (a description or JSON), both as in docs/formats/pipeline.md, and a request with one
// option per line: "micro-batches 4", "memory limited", "state-factor 4", and the options of
// PlannerOptions. "schedules" takes one name. The output is the plan. Each plan must also pass the
// checker in verify/, which shares no code with the planner.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "weft/base/decimal.h"
#include "weft/base/golden_cases.h"
#include "weft/pipeline/plan/plan_file.h"
#include "weft/pipeline/verify/verify.h"

namespace weft::pipeline {
namespace {

const std::string kPlanCases = std::string(WEFT_SOURCE_DIR) + "/tests/cases/pipeline_plans";

struct PlanRequest {
  Profile profile;
  Task task;
  PlannerOptions options;
};

Result<PlanRequest> request_of(const golden::Case& golden) {
  PlanRequest request;
  WEFT_ASSIGN(request.profile, parse_profile(golden.input("profile"), "the case"));
  WEFT_TRY(check_profile(request.profile));
  request.task.chain = layer_chain(request.profile);
  std::string cluster = golden.input("cluster");
  while (!cluster.empty() && cluster.back() == '\n') cluster.pop_back();
  if (cluster.starts_with('{')) {
    WEFT_ASSIGN(request.task.cluster, parse_cluster(cluster, "the case", ""));
  } else {
    WEFT_ASSIGN(request.task.cluster, describe_cluster(cluster));
  }
  WEFT_ASSIGN(auto fields, golden::fields(golden.input("request"),
                                          {"micro-batches", "memory", "state-factor", "stages",
                                           "replicas", "chunks", "schedules"}));
  bool readable = !fields.contains("memory") || fields["memory"] == "limited";
  const auto number = [&](const char* name, auto missing) {
    if (!fields.contains(name)) return missing;
    const auto value = parse_digits(fields[name]);
    readable = readable && value;
    return static_cast<decltype(missing)>(value.value_or(0));
  };
  PlannerOptions& options = request.options;
  request.task.micro_batches = number("micro-batches", request.task.micro_batches);
  request.task.limit_memory = fields.contains("memory");
  request.task.state_factor = number("state-factor", request.task.state_factor);
  options.stages = number("stages", options.stages);
  options.replicas = number("replicas", options.replicas);
  options.chunks = number("chunks", options.chunks);
  if (fields.contains("schedules")) options.schedules = {fields["schedules"]};
  if (!readable) return bad_input("a field of the request has a value that cannot be read");
  return request;
}

std::string in_ms(Nanos time) { return fmt::format("{:.9g} ms", static_cast<double>(time) * 1e-6); }

std::string print_stages(const PlanRequest& request, const Planned& planned,
                         const Pipeline& pipeline) {
  std::string text;
  for (std::size_t s = 0; s < planned.plan.stages.size(); ++s) {
    const PlannedStage& stage = planned.plan.stages[s];
    std::vector<std::string_view> layers;
    for (std::int32_t i = stage.first; i < stage.last; ++i) {
      layers.push_back(request.profile.layers[request.task.chain.order[i]].name);
    }
    const Stage& costs = pipeline.stages[s];
    text += fmt::format("stage {}: layers {} on devices {}{}\n", s, fmt::join(layers, " "),
                        fmt::join(stage.devices, " "), stage.recompute ? ", recomputes" : "");
    text += fmt::format("  forward {}, backward {}", in_ms(costs.forward),
                        in_ms(costs.input + costs.weight));
    if (costs.all_reduce > 0) text += ", all-reduce " + in_ms(costs.all_reduce);
    if (s + 1 < planned.plan.stages.size()) {
      const Transfer& sent = pipeline.boundaries[s].forward;
      text += ", sends for " + in_ms(sent.time + sent.latency);
    }
    text += "\n";
  }
  return text;
}

/// The memory of each group of devices that runs stages; empty if memory is not limited.
std::string print_memory(const PlanRequest& request, const Planned& planned,
                         const Timeline& timeline) {
  std::string text;
  if (!request.task.limit_memory) return text;
  const std::vector<DeviceId> groups = groups_of(planned.plan.stages);
  const std::vector<Bytes> always = static_memory(request.task, planned.plan.stages);
  for (std::size_t group = 0; group < always.size(); ++group) {
    const auto s = std::find(groups.begin(), groups.end(), static_cast<DeviceId>(group));
    const auto& devices = planned.plan.stages[s - groups.begin()].devices;
    text += fmt::format("memory of devices {}: {} of {} bytes, {} of them during the whole step\n",
                        fmt::join(devices, " "), always[group] + timeline.peaks[group],
                        smallest_memory(request.task.cluster, devices), always[group]);
  }
  return text;
}

Result<std::string> plan_of_case(const golden::Case& golden) {
  WEFT_ASSIGN(const PlanRequest request, request_of(golden));
  const auto planned = make_plan(request.task, request.options);
  if (!planned) return "no plan: " + planned.error().message + "\n";
  WEFT_ASSIGN(const Pipeline pipeline, pipeline_of(request.task, planned->plan.stages));
  WEFT_ASSIGN(const Timeline timeline, simulate(pipeline, planned->schedule));
  const std::string file =
      plan_file(request.profile, request.task, *planned, pipeline, planned->schedule, timeline);
  WEFT_ASSIGN(const auto findings, verify::verify_plan_text(file, "the plan"));
  for (const verify::Finding& finding : findings) {
    if (!finding.right) return fail(ErrorCode::kBadInput, "the plan is wrong: " + finding.says);
  }
  return print_stages(request, *planned, pipeline) +
         fmt::format("schedule: {}\nstep: {}\n", planned->plan.schedule,
                     in_ms(planned->plan.step)) +
         fmt::format("lower bound: {}; with one stage per device: {}\n", in_ms(planned->bound),
                     in_ms(planned->one_stage_bound)) +
         print_memory(request, *planned, timeline);
}

class PlanCases : public testing::TestWithParam<std::string> {};

TEST_P(PlanCases, GiveTheExpectedPlans) {
  const Status checked = golden::check(GetParam(), plan_of_case);
  EXPECT_TRUE(checked) << checked.error().text();
}

INSTANTIATE_TEST_SUITE_P(All, PlanCases, testing::ValuesIn(golden::files(kPlanCases)),
                         [](const auto& given) {
                           return std::filesystem::path(given.param).stem().string();
                         });

}  // namespace
}  // namespace weft::pipeline
