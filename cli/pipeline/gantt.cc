// SPDX-License-Identifier: Apache-2.0
// `weft pipeline gantt PLAN [PLAN]`: draws plans. `weft pipeline schedule` also uses draw().
#include <fmt/format.h>

#include "cli/output.h"
#include "cli/pipeline/pipeline.h"
#include "weft/pipeline/exports/scheduled.h"

namespace weft::cli {
namespace {

using pipeline::exports::Scheduled;

constexpr std::size_t kDefaultColumns = 100;  ///< if the width of the terminal is unknown
constexpr std::size_t kMostPlans = 2;

Result<ExitCode> run_pipeline_gantt(const Arguments& arguments, Console& console) {
  std::vector<Scheduled> scheduled;
  for (const std::string& path : arguments.inputs) {
    WEFT_ASSIGN(const pipeline::ReadPlan plan, pipeline::read_plan(path));
    WEFT_ASSIGN(Scheduled one, pipeline::exports::scheduled_plan(plan));
    scheduled.push_back(std::move(one));
  }
  std::vector<pipeline::Drawn> drawn;
  // drawn() keeps pointers to elements of `scheduled`, so this loop comes after all plans are read.
  for (const Scheduled& one : scheduled) drawn.push_back(pipeline::exports::drawn(one));
  WEFT_TRY(draw(arguments, console, drawn, true));
  return ExitCode::kDone;
}

}  // namespace

Status draw(const Arguments& arguments, Console& console, std::span<const pipeline::Drawn> drawn,
            bool in_result) {
  if (in_result) {
    // An empty line separates the drawing from what the verb has printed.
    const int columns = console.out.columns;
    if (!console.result.empty()) console.result += "\n";
    console.result += pipeline::gantt_text(
        drawn, columns > 0 ? static_cast<std::size_t>(columns) : kDefaultColumns);
  }
  if (!arguments.has("--svg")) return {};
  return write_output(console, arguments.all("--svg").back(), pipeline::gantt_svg(drawn));
}

Subcommand pipeline_gantt_command() {
  Subcommand command;
  command.name = "pipeline gantt";
  command.description = "draws one plan, or two on the same time scale";
  command.inputs = "PLAN [PLAN]";
  command.min_inputs = 1;
  command.max_inputs = kMostPlans;
  command.details =
      "Each row is a device, or a group of devices that run the same stages. The letters are ops: "
      "F forward, B backward, I and W backwards for inputs and for weights. Idle time is shaded.";
  command.examples = {
      Example{"weft pipeline gantt examples/pipeline/plan.json", "one plan in the terminal"},
      Example{"weft pipeline gantt before.json after.json --svg both.svg",
              "two plans, also as a picture"}};
  command.flags = {{"--svg", "FILE", "write the drawing to this file as well", Flag::Value::kFile}};
  command.refused_flags = {
      {"--json",
       "gantt draws and has no JSON; weft pipeline export PLAN --to json writes all times"}};
  command.run = run_pipeline_gantt;
  return command;
}

}  // namespace weft::cli
