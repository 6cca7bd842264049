// SPDX-License-Identifier: Apache-2.0
// `weft pipeline compare PROFILE --cluster C --microbatches M`: shows the plan of Weft beside the
// plans of other planners. The same simulator times all plans.
#include <fmt/format.h>

#include <set>

#include "cli/pipeline/pipeline.h"
#include "cli/shell/format.h"
#include "cli/shell/notes.h"
#include "weft/base/counted.h"
#include "weft/base/json/writer.h"
#include "weft/pipeline/rivals/rivals.h"

namespace weft::cli {
namespace {

using namespace pipeline;

/// One row of the comparison.
struct Compared {
  std::string name;
  Evaluated plan;
  PlanFigures figures;
  Nanos bound = 0;      ///< a lower bound for the step of this plan, see bound_of()
  std::string why_not;  ///< the reason why there is no plan; empty if there is a plan
};

/// A lower bound that holds for `plan`. `planned.bound` holds only for plans that keep to --stages
/// and --replicas and have one stage per device group. Other planners ignore these flags, and some
/// put several stages on one device. Then the weaker bound that holds for all plans is returned.
Nanos bound_of(const Task& task, const Planned& planned, const PlannerOptions& options,
               const Evaluated& plan) {
  const std::vector<DeviceId> groups = groups_of(plan.stages);
  const bool shares = std::set(groups.begin(), groups.end()).size() < groups.size();
  const bool limited = options.stages > 0 || options.replicas > 0;
  return shares || limited ? std::min(planned.bound, bound_of_all(task)) : planned.bound;
}

/// Returns the plan of Weft, followed by the plans of all rivals. A rival without a plan has an
/// entry with the reason, so that users see why its plan is missing.
Result<std::vector<Compared>> compare_all(const Task& task, const Planned& planned,
                                          const PlannerOptions& options) {
  std::vector<Compared> all;
  // The figures of all plans come from the same code, so that they can be compared.
  WEFT_ASSIGN(const PlanFigures own, figures_of(task, planned.plan));
  all.push_back({"weft", planned.plan, own, planned.bound, ""});
  for (const std::string& name : rivals()) {
    const auto plan = rival_plan(task, name);
    const auto figures = plan ? figures_of(task, *plan) : tl::unexpected(plan.error());
    if (figures) {
      all.push_back({name, *plan, *figures, bound_of(task, planned, options, *plan), ""});
    } else {
      all.push_back({name, {}, {}, 0, figures.error().message});
    }
  }
  return all;
}

/// How far `step` is above `least`, in per cent of `step`.
double above(Nanos step, Nanos least) {
  return step > 0 ? 100.0 * static_cast<double>(step - least) / static_cast<double>(step) : 0.0;
}

/// A planner without a plan has "step_ms": null and the reason under "why_not".
std::string json_of(const Profile& profile, const Task& task, const Planned& planned,
                    const std::vector<Compared>& all, const Diagnostics& diagnostics) {
  JsonWriter json;
  json.begin_object().field("schema_version", 1).field("command", "pipeline compare");
  json.field("profile", profile.name).field("cluster", task.cluster.name);
  json.field("microbatches", task.micro_batches);
  json.field("lower_bound_ms", static_cast<double>(planned.bound) * 1e-6);
  json.key("plans").begin_array();
  for (const Compared& one : all) {
    json.begin_object().field("name", one.name);
    if (!one.why_not.empty()) {
      json.key("step_ms").null().field("why_not", one.why_not).end_object();
      continue;
    }
    json.field("step_ms", static_cast<double>(one.plan.step) * 1e-6);
    json.field("gap_pct", above(one.plan.step, one.bound));
    json.field("idle_pct", 100 * one.figures.idle).field("memory_bytes", one.figures.most_memory);
    json.field("schedule", one.plan.schedule).key("stages").begin_array();
    for (const PlannedStage& stage : one.plan.stages) {
      json.begin_object().field("layers", stage.last - stage.first).key("devices").begin_array();
      for (const std::int32_t device : stage.devices) json.value(device);
      json.end_array().field("recompute", stage.recompute).end_object();
    }
    json.end_array().end_object();
  }
  write_diagnostics(json.end_array(), diagnostics);
  return json.end_object().take() + "\n";
}

/// One row per planner. The column "to weft" says how much longer the step of the planner is than
/// the step of Weft's plan.
std::string text_of(const Profile& profile, const Task& task, const Planned& planned,
                    const std::vector<Compared>& all, const Terminal& terminal) {
  Table table({{"plan", Align::kLeft},
               {"stages"},
               {"step"},
               {"to weft"},
               {"idle"},
               {"memory"},
               {"gap"},
               {"order", Align::kLeft, false, true}});
  const auto ours = static_cast<double>(planned.plan.step);
  for (const Compared& one : all) {
    if (!one.why_not.empty()) {
      table.add_row({one.name, "", "none", "", "", "", "", one.why_not});
      continue;
    }
    table.add_row(
        {one.name, std::to_string(one.plan.stages.size()), format_time(one.plan.step),
         fmt::format("{:+.1f} %", 100 * (static_cast<double>(one.plan.step) - ours) / ours),
         fmt::format("{:.1f} %", 100 * one.figures.idle), format_bytes(one.figures.most_memory),
         fmt::format("{:.2f} %", above(one.plan.step, one.bound)), one.plan.schedule});
  }
  return fmt::format("{}: {} on {}, {} per step; no {} takes less than {}\n{}", profile.name,
                     counted(task.chain.size(), "layer"), counted(task.cluster.devices, "device"),
                     counted(task.micro_batches, "micro-batch"), bounded_plan(planned),
                     format_time(planned.bound), table.print(terminal));
}

Result<ExitCode> run_pipeline_compare(const Arguments& arguments, Console& console) {
  Diagnostics diagnostics;
  WEFT_ASSIGN(const Profile profile,
              open_profile(arguments, arguments.inputs.front(), diagnostics));
  WEFT_ASSIGN(const Task task, plan_task(arguments, profile, diagnostics));
  WEFT_ASSIGN(const PlannerOptions options, planner_options(arguments));
  WEFT_ASSIGN(const Planned planned, make_plan(task, options));
  WEFT_ASSIGN(const std::vector<Compared> all, compare_all(task, planned, options));
  console.result = arguments.has("--json") ? json_of(profile, task, planned, all, diagnostics)
                                           : text_of(profile, task, planned, all, console.out);
  Notes notes(console.err);
  notes.add(diagnostics);
  console.notes = notes.text();
  return ExitCode::kDone;
}

}  // namespace

Subcommand pipeline_compare_command() {
  Subcommand command;
  command.name = "pipeline compare";
  command.description = "shows the plan of Weft beside the plans of other planners";
  command.inputs = "PROFILE";
  command.min_inputs = 1;
  command.max_inputs = 1;
  command.details =
      "The other planners are SPP, PipeDream and DAPPLE, and stages of equal cost under known "
      "schedules. One simulator times all plans. `weft pipeline PROFILE --planner NAME -o FILE` "
      "writes the plan of one planner.";
  command.examples = {
      Example{"weft pipeline compare examples/pipeline/gpt8l.json --cluster '4 devices, 12.5GB/s' "
              "--microbatches 16",
              "step, idle time and memory of every plan"},
      Example{"weft pipeline compare profile.json --cluster clusters.json#lab --microbatches 8 "
              "--memory --json",
              "the same as JSON; plans of Weft keep to the memory of the devices"}};
  command.flags = planning_flags();
  command.check = check_memory_flag;
  command.run = run_pipeline_compare;
  return command;
}

}  // namespace weft::cli
