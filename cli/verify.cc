// SPDX-License-Identifier: Apache-2.0
// `weft verify PLAN`: checks a pipeline plan with code that shares nothing with the planner.
#include <fmt/format.h>

#include "cli/commands.h"
#include "weft/base/json/writer.h"
#include "weft/pipeline/verify/verify.h"

namespace weft::cli {
namespace {

Result<ExitCode> run_verify(const Arguments& arguments, Console& console) {
  WEFT_ASSIGN(const std::vector<pipeline::verify::Finding> findings,
              pipeline::verify::verify_plan(arguments.inputs.front()));
  bool right = true;
  for (const pipeline::verify::Finding& finding : findings) right &= finding.right;
  if (arguments.has("--json")) {
    JsonWriter json;
    json.begin_object().field("schema_version", 1).field("command", "verify");
    json.field("right", right).key("findings").begin_array();
    for (const pipeline::verify::Finding& finding : findings) {
      json.begin_object().field("about", finding.about).field("right", finding.right);
      json.field("says", finding.says).end_object();
    }
    console.result = json.end_array().end_object().take() + "\n";
  } else {
    for (const pipeline::verify::Finding& finding : findings) {
      const std::string verdict = finding.right ? "right" : paint(console.out, Tone::kBad, "WRONG");
      console.result += fmt::format("{:<9} {}  {}\n", finding.about, verdict, finding.says);
    }
  }
  return right ? ExitCode::kDone : ExitCode::kAnswerIsNo;
}

}  // namespace

Subcommand verify_command() {
  Subcommand command;
  command.name = "verify";
  command.description = "checks a pipeline plan: stages, time, memory and bound";
  command.inputs = "PLAN";
  command.min_inputs = 1;
  command.max_inputs = 1;
  command.details =
      "Reads a plan of `weft pipeline -o` and checks it from the file alone, with separate code: "
      "whether each layer is in exactly one stage, how long a step takes, whether the plan fits "
      "into memory, whether the lower bound holds for all plans, whether the figures for people "
      "are right, and whether the file was changed. The exit status is 1 if something is wrong.";
  command.examples = {
      Example{"weft verify examples/pipeline/plan.json", "one line per check, right or WRONG"},
      Example{"weft verify plan.json --json", "the same for scripts"}};
  command.flags = {{"--json", "", "print JSON, schema_version 1 (docs/reference/cli.md)"}};
  command.run = run_verify;
  return command;
}

}  // namespace weft::cli
