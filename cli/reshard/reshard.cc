// SPDX-License-Identifier: Apache-2.0
// `weft reshard`: finds the transfers that turn one distribution of an array into another. The verb
// has three modes, which --cases and --plan choose (see ReshardMode). Each mode is one function
// below. It computes or reads results; the code that reports them is shared.
#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/loading.h"
#include "cli/output.h"
#include "cli/reshard/arguments.h"
#include "cli/reshard/results.h"
#include "cli/reshard/text.h"
#include "weft/reshard/layout/picture.h"

namespace weft::cli {
namespace {

using reshard::Case;
using reshard::Outcome;

/// Writes the files of -o and --plans. Call it before the results are reported, because a plan that
/// cannot be written is an Error.
Status write_files(const ReshardResults& results, const ReshardOutput& output, Console& console) {
  if (output.plan_file) {
    WEFT_ASSIGN(std::string plans, plans_text(results));
    WEFT_TRY(write_output(console, *output.plan_file, std::move(plans)));
  }
  if (output.transfers_file) {
    WEFT_TRY(write_output(console, *output.transfers_file, transfers_text(results)));
  }
  return {};
}

/// The last part of the report, which is the same for one problem and for many problems.
std::string joint_text(const ReshardResults& results, const ReshardOutput& output) {
  std::string text;
  if (!results.labels.empty()) text += reshard_labels_text(results.labels);
  if (output.together) {
    text += reshard_together_text(summarize_jointly(results.cases, results.outcomes));
  }
  return text;
}

/// The exit status is an error if a plan failed its check: this is a bug, and scripts must notice.
ExitCode exit_code_of(const ReshardResults& results) {
  for (const Outcome& outcome : results.outcomes) {
    if (outcome.status == Outcome::Status::kWrong) return ExitCode::kAnswerIsNo;
  }
  return ExitCode::kDone;
}

/// Reports a single problem. If the problem was refused, returns an Error (kInfeasible).
Result<ExitCode> report_one(const ReshardResults& results, const ReshardOutput& output,
                            Console& console) {
  WEFT_TRY(write_files(results, output, console));
  const Case& item = results.cases.front();
  const Outcome& outcome = results.outcomes.front();
  if (outcome.status == Outcome::Status::kRefused) {
    return fail(ErrorCode::kInfeasible, outcome.reason);
  }
  if (output.picture_file) {
    WEFT_TRY(write_output(console, *output.picture_file, reshard::picture(*item.problem)));
  }
  if (output.json) {
    console.result = reshard_json(results, std::nullopt, output.together);
    return exit_code_of(results);
  }
  console.result = reshard_text(item, outcome, console.out);
  if (results.footprints.front()) {
    console.result += reshard_memory_text(*results.footprints.front());
  }
  console.result += joint_text(results, output);
  return exit_code_of(results);
}

/// Reports the problems of a file. Refused problems are no Error: they are listed as refused.
Result<ExitCode> report_many(const ReshardResults& results, const ReshardOutput& output,
                             Console& console) {
  WEFT_TRY(write_files(results, output, console));
  if (output.picture_file) {
    return fail(ErrorCode::kUsage, "--svg can draw only one problem, not a file of several");
  }
  std::optional<DirectCount> direct;
  if (output.direct) direct = count_direct(results);
  if (output.json) {
    console.result = reshard_json(results, direct, output.together);
    return exit_code_of(results);
  }
  console.result = reshard_cases_text(results.cases, results.outcomes, output.all, console.out);
  console.result += reshard_most_memory_text(results.cases, results.footprints);
  if (direct) {
    console.result += fmt::format(
        "direct    {} of {} plans without summands receive no more than the lower bound\n",
        direct->meet_bound, direct->plans);
  }
  console.result += joint_text(results, output);
  return exit_code_of(results);
}

/// Mode: plan the problem that the flags describe.
Result<ExitCode> plan_one_problem(const Arguments& arguments, Console& console) {
  WEFT_ASSIGN(const PlanningOptions planning, planning_options(arguments));
  const ReshardOutput output = reshard_output(arguments);
  WEFT_ASSIGN(Case item, reshard_case(arguments));
  std::vector<Case> cases;
  cases.push_back(std::move(item));
  WEFT_ASSIGN(const ReshardResults results,
              plan_cases(std::move(cases), planning, output.together,
                         output.transfers_file.has_value(), console.err));
  return report_one(results, output, console);
}

/// Mode: plan all problems of a case file.
Result<ExitCode> plan_case_file(const Arguments& arguments, Console& console) {
  WEFT_ASSIGN(const PlanningOptions planning, planning_options(arguments));
  const ReshardOutput output = reshard_output(arguments);
  WEFT_ASSIGN(std::vector<Case> cases, reshard::read_cases(arguments.all("--cases").back()));
  WEFT_ASSIGN(const ReshardResults results,
              plan_cases(std::move(cases), planning, output.together,
                         output.transfers_file.has_value(), console.err));
  return report_many(results, output, console);
}

/// Mode: replay the plans of a plan file, without planning again.
Result<ExitCode> replay_plan_file(const Arguments& arguments, Console& console) {
  WEFT_ASSIGN(const PlanningOptions planning, planning_options(arguments));
  const ReshardOutput output = reshard_output(arguments);
  WEFT_ASSIGN(const ReshardResults results, read_plans(arguments.all("--plan").back(), planning));
  return results.cases.size() == 1 ? report_one(results, output, console)
                                   : report_many(results, output, console);
}

Result<ExitCode> run_reshard(const Arguments& arguments, Console& console) {
  set_threads(arguments);
  WEFT_ASSIGN(const ReshardMode mode, reshard_mode(arguments));
  switch (mode) {
    case ReshardMode::kOneProblem:
      return plan_one_problem(arguments, console);
    case ReshardMode::kCaseFile:
      return plan_case_file(arguments, console);
    case ReshardMode::kPlanFile:
      return replay_plan_file(arguments, console);
  }
  return ExitCode::kDone;
}

/// The flags that describe one problem.
std::vector<Flag> problem_flags() {
  using Value = Flag::Value;
  return {
      {"--mesh", "AXES", "mesh, such as x=2,y=4; device numbers count up along the last axis",
       Value::kText},
      {"--shape", "SIZES", "sizes of the array, such as 1024,4096", Value::kText},
      {"--from", "DIMS", "axes that cut each dimension now", Value::kText},
      {"--to", "DIMS", "axes that cut each dimension afterwards", Value::kText},
      {"--from-partial", "AXES", "axes along which devices hold summands now, such as x or x+y",
       Value::kText},
      {"--to-partial", "AXES", "axes along which devices hold summands afterwards", Value::kText},
      {"--devices", "LIST", "device numbers of the mesh, in row-major order", Value::kText},
      {"--to-mesh", "AXES", "mesh for --to; default: that of --mesh", Value::kText},
      {"--to-devices", "LIST", "device numbers of --to-mesh; default: those of --devices",
       Value::kText},
      {"--dtype",
       "TYPE",
       "element type; default: f32",
       Value::kText,
       false,
       {"f32", "f64", "bf16", "f16", "i32", "i64", "c64", "c128"}},
      {"--to-dtype", "TYPE", "element type afterwards; default: no cast", Value::kText},
      {"--split",
       "RULE",
       "how to cut a dimension that does not divide evenly: ceil_flat (default), ceil_nested or "
       "balanced",
       Value::kChoice,
       false,
       {"ceil_flat", "ceil_nested", "balanced"}}};
}

/// The flags that say how plans are priced and what they may use.
std::vector<Flag> planning_flags() {
  using Value = Flag::Value;
  return {
      {"--link", "LINK", "cost of a step, bandwidth of a device; default: 10us,25GB/s",
       Value::kText},
      {"--links", "FILE", "instead of --link: a link table of weft calibrate", Value::kFile, true},
      {"--message-cost", "TIME", "cost of each message that a device receives; default: 0us",
       Value::kText},
      {"--topology", "NODES",
       "devices per node, and bandwidth from other nodes into a node, such as 4,50GB/s",
       Value::kText},
      {"--scale-local", "SIZE",
       "scale times as if the largest part that a device holds had this size", Value::kText},
      {"--budget", "SIZE",
       "memory that a device may use beside source and target; larger transfers are divided",
       Value::kText},
      {"--in-place", "",
       "overwrite the source: it shares one buffer with the target if the plan allows it"},
      {"--direct", "", "one direct exchange, without a search for cheaper plans"}};
}

/// The flags for files of problems and plans, and for what is written.
std::vector<Flag> file_flags() {
  using Value = Flag::Value;
  return {
      {"--cases", "FILE", "plan all problems of a file (docs/formats/reshard.md)", Value::kFile},
      {"--all", "", "with --cases: also list the problems that are ok"},
      {"--plans", "FILE", "write the transfers, one JSON line per problem", Value::kFile},
      {"--together", "", "move all arrays at once: balance senders over all of them"},
      {"--relabel", "", "reassign the parts of the target so that most bytes stay where they are"},
      {"-o", "FILE", "write the plan, which can be executed later (docs/formats/plan.md)",
       Value::kFile},
      {"--plan", "FILE", "replay and show a plan that -o wrote, instead of planning", Value::kFile},
      {"--svg", "FILE", "draw which device holds what, before and after", Value::kFile},
      {"--threads", "N", "number of threads; default: 0, which means all cores", Value::kWhole},
      {"--json", "", "print JSON, schema_version 1 (docs/reference/cli.md)"}};
}

}  // namespace

Subcommand reshard_command() {
  Subcommand command;
  command.name = "reshard";
  command.description = "finds the transfers that redistribute an array over devices";
  command.max_inputs = 0;
  command.details =
      "Each dimension names the axes of the mesh that cut it, most significant first: 'x,y' cuts\n"
      "rows by x and columns by y, '-,x+y' cuts columns by both, and x:(1)2 is the first sub-axis\n"
      "of size 2 of an axis of size 4. No device ever holds more than the larger of source and\n"
      "target. Every plan is replayed before it is shown.";
  command.examples = {Example{"weft reshard --mesh x=2,y=4 --shape 1024,4096 --from x,y --to -,x+y",
                              "steps, bytes per device, peak, time, bounds"},
                      Example{"weft reshard --cases cases.json --plans plans.jsonl",
                              "plan a file of problems; write the transfers, one line each"}};
  for (const auto& flags : {problem_flags(), planning_flags(), file_flags()}) {
    command.flags.insert(command.flags.end(), flags.begin(), flags.end());
  }
  command.run = run_reshard;
  return command;
}

}  // namespace weft::cli
