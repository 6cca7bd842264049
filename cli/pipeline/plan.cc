// SPDX-License-Identifier: Apache-2.0
// `weft pipeline PROFILE --cluster C --microbatches M`: plans and prints the plan. This file also
// reads the flags that `weft pipeline compare` shares. The order of work: read the profile,
// describe the task (cluster, micro-batches, memory limits), plan, simulate the plan once more for
// its figures, print, and write the plan file.
#include <fmt/format.h>

#include <chrono>

#include "cli/arguments.h"
#include "cli/output.h"
#include "cli/pipeline/pipeline.h"
#include "cli/shell/format.h"
#include "cli/shell/notes.h"
#include "weft/base/counted.h"
#include "weft/base/json/writer.h"
#include "weft/pipeline/plan/plan_file.h"
#include "weft/pipeline/rivals/rivals.h"

namespace weft::cli {
namespace {

using namespace pipeline;

constexpr std::int64_t kMostMicroBatches = 100'000;

constexpr DiagnosticKind kMemoryUnknown{
    "pipeline-memory-unknown", Severity::kWarning,
    "the memory of these devices is unknown, because --cluster does not give it, so it does not "
    "limit the plan",
    "give --device-memory 80GB for all devices, or add the memory to the description of the "
    "cluster (', 80GB') or to its file (memory_gb)"};

/// The names that --schedule accepts when planning.
std::vector<std::string> plan_orders() {
  return {"1f1b",  "1f1b-2",  "pe",          "gpipe", "eager",
          "zb-h1", "zb-auto", "interleaved", "zb-v",  "dualpipe-v"};
}

/// Applies --memory and --device-memory. Devices of unknown memory (0) stay without a limit and are
/// noted.
Status limit_memory(const Arguments& arguments, Task& task, Diagnostics& diagnostics) {
  WEFT_ASSIGN(const Bytes each, size_flag(arguments, "--device-memory", 1));
  // --device-memory replaces the memory of all devices that the cluster describes.
  if (each > 0) task.cluster.memory.assign(task.cluster.memory.size(), each);
  task.limit_memory = arguments.has("--memory") || each > 0;
  if (!task.limit_memory) return {};
  for (std::size_t device = 0; device < task.cluster.memory.size(); ++device) {
    if (task.cluster.memory[device] == 0) {
      diagnostics.add(kMemoryUnknown, fmt::format("device {}", device));
    }
  }
  return {};
}

}  // namespace

std::vector<Flag> planning_flags() {
  return {
      {"--cluster", "CLUSTER", "the devices: FILE, FILE#NAME or a description", Flag::Value::kText},
      {"--microbatches", "M",
       "micro-batches per step; one micro-batch has the batch size of the profile",
       Flag::Value::kWhole},
      {"--memory", "",
       "stay within the memory of the devices; stages recompute activations where that helps"},
      {"--device-memory", "SIZE",
       "like --memory, but every device has this much memory: 80GB, 512MiB", Flag::Value::kText},
      {"--state-factor", "N",
       "with limited memory: bytes in memory per byte of parameters; default: 4, for Adam",
       Flag::Value::kWhole},
      {"--stages", "N", "exactly this many stages", Flag::Value::kWhole},
      {"--replicas", "N", "at most this many devices per stage; 1: no data parallelism",
       Flag::Value::kWhole},
      {"--chunks", "N", "at most this many stages on the same devices; default: 4",
       Flag::Value::kWhole},
      {"--schedule", "NAME", "use only this order of micro-batches; default: the best of all",
       Flag::Value::kChoice, false, plan_orders()},
      {"--drop-input-time", "",
       "layers named Input load data: count them as taking no time; default: as in the profile"},
      {"--json", "", "print JSON, schema_version 1 (docs/reference/cli.md)"}};
}

Result<Task> plan_task(const Arguments& arguments, const Profile& profile,
                       Diagnostics& diagnostics) {
  for (const char* flag : {"--cluster", "--microbatches"}) {
    if (!arguments.has(flag)) {
      return fail(ErrorCode::kUsage,
                  fmt::format("{} is missing; planning needs --cluster and --microbatches", flag));
    }
  }
  Task task;
  const std::int64_t micro_batches = *arguments.whole("--microbatches");
  if (micro_batches < 1 || micro_batches > kMostMicroBatches) {
    return fail(ErrorCode::kUsage, fmt::format("--microbatches: {} is not between 1 and {}",
                                               micro_batches, kMostMicroBatches));
  }
  task.micro_batches = static_cast<Micro>(micro_batches);
  WEFT_ASSIGN(task.cluster, open_cluster(arguments.all("--cluster").back()));
  WEFT_TRY(check_cluster(task.cluster));
  // A profile is a graph of layers, but planners need the layers in one order.
  task.chain = layer_chain(profile);
  WEFT_TRY(limit_memory(arguments, task, diagnostics));
  task.state_factor = arguments.whole("--state-factor").value_or(4);
  return task;
}

Result<PlannerOptions> planner_options(const Arguments& arguments) {
  for (const char* flag : {"--stages", "--replicas", "--chunks"}) {
    if (arguments.whole(flag).value_or(1) > 0) continue;
    return fail(ErrorCode::kUsage, fmt::format("{} must be at least 1", flag));
  }
  // 0 means no limit. Values above 2^20 do not limit anything either, because no cluster has that
  // many devices. So they are cut to 2^20, which fits into 32 bits.
  const auto small = [&](const char* flag) {
    return static_cast<std::int32_t>(
        std::min<std::int64_t>(arguments.whole(flag).value_or(0), 1 << 20));
  };
  PlannerOptions options;
  options.stages = small("--stages");
  options.replicas = small("--replicas");
  if (arguments.has("--chunks")) options.chunks = small("--chunks");
  if (arguments.has("--schedule")) options.schedules = arguments.all("--schedule");
  for (const std::string& name : options.schedules) {
    const bool shares = name == "interleaved" || name == "zb-v" || name == "dualpipe-v";
    if (!shares || options.chunks != 1) continue;
    return fail(ErrorCode::kUsage,
                fmt::format("--schedule {} needs several stages per device, but --chunks 1 allows "
                            "only one; leave out --chunks",
                            name));
  }
  return options;
}

std::string bounded_plan(const Planned& planned) {
  std::vector<std::string> limits;
  if (planned.most_chunks == 1) limits.emplace_back("one stage per device");
  if (planned.fixed_stages > 0) limits.push_back(counted(planned.fixed_stages, "stage"));
  if (planned.most_replicas > 0) {
    limits.push_back(fmt::format("at most {} per stage", counted(planned.most_replicas, "device")));
  }
  return limits.empty() ? "plan" : fmt::format("plan with {}", fmt::join(limits, ", "));
}

namespace {

/// A plan of another planner, for --compare.
struct Rival {
  std::string name;
  Result<Evaluated> plan;
};

std::string json_of(const Profile& profile, const Task& task, const Planned& planned,
                    const Pipeline& pipeline, const Timeline& timeline,
                    const std::vector<Rival>& others, const Diagnostics& diagnostics,
                    double solve_ms) {
  JsonWriter json;
  json.begin_object().field("schema_version", 1).field("command", "pipeline");
  json.field("cluster", task.cluster.name).field("solve_ms", solve_ms);
  write_answer(json, profile, task, planned, pipeline, timeline);
  if (!others.empty()) {
    json.key("rivals").begin_object();
    for (const Rival& rival : others) {
      json.key(rival.name);
      if (rival.plan)
        json.value(static_cast<double>(rival.plan->step) * 1e-6);
      else
        json.null();
    }
    json.end_object();
  }
  write_diagnostics(json, diagnostics);
  return json.end_object().take() + "\n";
}

std::string text_of(const Profile& profile, const Task& task, const Planned& planned,
                    const Pipeline& pipeline, const std::vector<Rival>& others) {
  const Evaluated& plan = planned.plan;
  std::string text = fmt::format(
      "{}: {} on {}, {} per step\n", profile.name, counted(task.chain.size(), "layer"),
      counted(task.cluster.devices, "device"), counted(task.micro_batches, "micro-batch"));
  text += fmt::format("{:>5}  {:>6}  {:>10}  {:>10}  {:>10}  {:>9}  {}\n", "stage", "layers",
                      "forward", "backward", "all-reduce", "sends", "devices");
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const PlannedStage& stage = plan.stages[s];
    const bool last = s + 1 == plan.stages.size();
    text += fmt::format("{:>5}  {:>6}  {:>10}  {:>10}  {:>10}  {:>9}  {}{}\n", s,
                        stage.last - stage.first, format_time(pipeline.stages[s].forward),
                        format_time(pipeline.stages[s].input + pipeline.stages[s].weight),
                        format_time(pipeline.stages[s].all_reduce),
                        last ? "" : format_bytes(task.chain.cut[stage.last]),
                        format_numbers({stage.devices.begin(), stage.devices.end()}),
                        stage.recompute ? ", recomputes" : "");
  }
  text += fmt::format("step        {}, order {}\n", format_time(plan.step), plan.schedule);
  // The gap in per cent of the step, like gap_pct in the plan file.
  const double gap =
      100.0 * static_cast<double>(plan.step - planned.bound) / static_cast<double>(plan.step);
  if (planned.bound == plan.step)
    text += fmt::format("bound       no {} takes less\n", bounded_plan(planned));
  else
    text += fmt::format("bound       {}, {:.2f} % less; no {} takes less than that\n",
                        format_time(planned.bound), gap, bounded_plan(planned));
  if (planned.bound < plan.step && planned.exhausted && planned.most_chunks == 1)
    text += "            no plan takes less with the schedules that were tried\n";
  if (planned.most_chunks > 1)
    text += fmt::format("            no plan with one stage per device takes less than {}\n",
                        format_time(planned.one_stage_bound));
  for (const Rival& rival : others) {
    text += rival.plan
                ? fmt::format("{:<11} {}, {:+.1f} %\n", rival.name, format_time(rival.plan->step),
                              100.0 * static_cast<double>(rival.plan->step - plan.step) /
                                  static_cast<double>(plan.step))
                : fmt::format("{:<11} {}\n", rival.name, rival.plan.error().message);
  }
  return text;
}

/// Refuses flags that would change the lower bound of Weft but not the plan of the other planner:
/// the plan could not be compared with this bound.
Status check_free(const Arguments& arguments, const std::string& planner) {
  for (const char* flag : {"--stages", "--replicas", "--schedule"}) {
    if (!arguments.has(flag)) continue;
    return fail(
        ErrorCode::kUsage,
        fmt::format("{} does not go with --planner: {} makes this choice itself", flag, planner));
  }
  return {};
}

/// Replaces the plan in `planned` by the plan of another planner. The lower bound of Weft is kept,
/// because it also holds for this plan. But if the new plan puts more stages on a device than Weft
/// considered, a weaker bound is needed.
Status plan_as(const std::string& planner, const Task& task, Planned& planned) {
  WEFT_ASSIGN(planned.plan, rival_plan(task, planner));
  WEFT_ASSIGN(const Pipeline pipeline, pipeline_of(task, planned.plan.stages));
  // Rivals name their schedule; make its orders, so that the plan file is complete.
  WEFT_ASSIGN(planned.schedule, plan_schedule(pipeline, planned.plan.schedule));
  // Even if Weft has tried all its candidates, this says nothing about the new plan.
  planned.exhausted = false;
  const auto stages = static_cast<std::int32_t>(planned.plan.stages.size());
  // At least one device has this many stages.
  planned.most_chunks =
      std::max(planned.most_chunks, (stages + pipeline.devices() - 1) / pipeline.devices());
  if (planned.most_chunks > 1) planned.bound = std::min(planned.bound, bound_of_all(task));
  return {};
}

}  // namespace

Result<ExitCode> run_pipeline_plan(const Arguments& arguments, Console& console) {
  Diagnostics diagnostics;
  WEFT_ASSIGN(const Profile profile,
              open_profile(arguments, arguments.inputs.front(), diagnostics));
  WEFT_ASSIGN(const Task task, plan_task(arguments, profile, diagnostics));
  const std::string planner = value_or(arguments, "--planner", "weft");
  if (planner != "weft") WEFT_TRY(check_free(arguments, planner));
  WEFT_ASSIGN(const PlannerOptions options, planner_options(arguments));
  // Weft always plans: the plan of another planner is shown with the lower bound of Weft.
  const auto begin = std::chrono::steady_clock::now();
  WEFT_ASSIGN(Planned planned, make_plan(task, options));
  if (planner != "weft") WEFT_TRY(plan_as(planner, task, planned));
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
  WEFT_ASSIGN(const Pipeline pipeline, pipeline_of(task, planned.plan.stages));
  WEFT_ASSIGN(const Timeline timeline, simulate(pipeline, planned.schedule));
  std::vector<Rival> others;
  if (arguments.has("--compare")) {
    for (const std::string& name : rivals()) others.push_back({name, rival_plan(task, name)});
  }
  console.result = arguments.has("--json") ? json_of(profile, task, planned, pipeline, timeline,
                                                     others, diagnostics, took.count())
                                           : text_of(profile, task, planned, pipeline, others);
  Notes notes(console.err);
  notes.add(diagnostics);
  console.notes = notes.text();
  // Write the file last, so that the plan is printed even if the file cannot be written.
  if (arguments.has("-o")) {
    WEFT_TRY(write_output(console, arguments.all("-o").back(),
                          plan_file(profile, task, planned, pipeline, planned.schedule, timeline)));
  }
  return ExitCode::kDone;
}

}  // namespace weft::cli
