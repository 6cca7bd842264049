// SPDX-License-Identifier: Apache-2.0
// `weft pipeline export PLAN --to FORMAT`: writes a plan, or a schedule of given stages, in a
// format that another program runs.
#include <fmt/format.h>

#include "cli/output.h"
#include "cli/pipeline/pipeline.h"
#include "cli/shell/notes.h"
#include "weft/base/counted.h"
#include "weft/base/file.h"
#include "weft/base/json/document.h"
#include "weft/pipeline/exports/json.h"
#include "weft/pipeline/exports/megatron.h"
#include "weft/pipeline/exports/torch.h"
#include "weft/pipeline/schedule/instances.h"

namespace weft::cli {
namespace {

using namespace pipeline;
using exports::Exported;
using exports::Scheduled;

/// The schedule to export. A plan file contains its schedule. A file of instances does not: the
/// instance gets the schedule that --schedule names, or the shortest one that the solver finds.
Result<Scheduled> scheduled_of(const Arguments& arguments) {
  const std::string& path = arguments.inputs.front();
  WEFT_ASSIGN(const std::string text, read_file(path));
  // Only files of instances have this field; everything else must be a plan.
  WEFT_ASSIGN(const JsonValue root, parse_json(text, path));
  if (root.find("instances")) {
    WEFT_ASSIGN(const std::vector<Pipeline> pipelines, chosen_instances(arguments));
    if (pipelines.size() != 1) {
      return fail(ErrorCode::kUsage,
                  fmt::format("the file has {} pipelines and only one can be exported; choose it "
                              "with --instance",
                              pipelines.size()));
    }
    const std::string name = value_or(arguments, "--schedule", "searched");
    WEFT_ASSIGN(const Schedule schedule, schedule_of_instance(arguments, name, pipelines.front()));
    return exports::scheduled_pipeline(pipelines.front(), schedule, name);
  }
  for (const char* flag : {"--instance", "--schedule"}) {
    if (!arguments.has(flag)) continue;
    return fail(ErrorCode::kUsage,
                fmt::format("{} is for files of instances; a plan already has its schedule", flag));
  }
  WEFT_ASSIGN(const ReadPlan plan, parse_plan(text, path));
  return exports::scheduled_plan(plan);
}

/// Writes the schedule in the format of --to.
Result<Exported> exported(const Arguments& arguments, const Scheduled& scheduled) {
  const std::string& format = arguments.all("--to").back();
  if (format == "json") return exports::json_schedule(scheduled);
  if (format == "megatron") return exports::megatron_layout(scheduled);
  // Without --torch, this stays the default of TorchVersion: the version that Weft is tested with.
  exports::TorchVersion version;
  if (arguments.has("--torch")) {
    WEFT_ASSIGN(version, exports::parse_torch_version(arguments.all("--torch").back()));
  }
  return exports::torch_csv(scheduled,
                            format == "torch-csv" ? exports::TorchFormat::kComputeOnly
                                                  : exports::TorchFormat::kComputeComms,
                            version);
}

Result<ExitCode> run_pipeline_export(const Arguments& arguments, Console& console) {
  if (!arguments.has("--to")) {
    return fail(ErrorCode::kUsage,
                "--to is missing; give torch-csv, torch-comms-csv, megatron or json");
  }
  WEFT_ASSIGN(const Scheduled scheduled, scheduled_of(arguments));
  WEFT_ASSIGN(Exported result, exported(arguments, scheduled));
  if (arguments.has("-o")) {
    WEFT_TRY(write_output(console, arguments.all("-o").back(), result.text));
    console.result =
        fmt::format("{}: {}, {}, {}\n", arguments.all("-o").back(), scheduled.schedule_name,
                    counted(scheduled.pipeline.stages.size(), "stage"),
                    counted(scheduled.pipeline.micro_batches, "micro-batch"));
  } else {
    console.result = std::move(result.text);
  }
  Notes notes(console.err);
  for (const std::string& note : result.notes) notes.add(Tone::kPlain, note);
  console.notes = notes.text();
  return ExitCode::kDone;
}

}  // namespace

Subcommand pipeline_export_command() {
  Subcommand command;
  command.name = "pipeline export";
  command.description = "writes a plan in a format that another program runs";
  command.inputs = "PLAN";
  command.min_inputs = 1;
  command.max_inputs = 1;
  command.details =
      "PLAN is a plan of `weft pipeline -o`, or a file of instances: stages without a schedule. "
      "The formats are those of torch.distributed.pipelining and Megatron-LM, and JSON with the "
      "start and end of every op (docs/formats/pipeline.md).";
  command.examples = {
      Example{"weft pipeline export examples/pipeline/stages.json --instance even --schedule 1f1b "
              "--to torch-csv",
              "a known schedule of given stages, for torch"},
      Example{"weft pipeline export plan.json --to megatron", "the layout flags of Megatron-LM"}};
  command.flags = {
      {"--to",
       "FORMAT",
       "torch-csv (ops), torch-comms-csv (ops and messages), megatron (layout) or json",
       Flag::Value::kChoice,
       false,
       {"torch-csv", "torch-comms-csv", "megatron", "json"}},
      {"--torch", "VERSION", "version of torch that will read the file; default: 2.13",
       Flag::Value::kText},
      {"--instance", "NAME",
       "the instance to export, if PLAN is a file of instances: its name, or its position from 0",
       Flag::Value::kText},
      {"--schedule", "NAME",
       "schedule of the instance; default: the shortest one that is found in --time-limit",
       Flag::Value::kChoice, false, instance_orders()},
      {"--time-limit", "S", "seconds to search for a schedule; default: 50", Flag::Value::kWhole},
      {"-o", "FILE", "write to this file instead of standard output", Flag::Value::kFile}};
  command.refused_flags = {
      {"--json", "export takes no --json; --to json writes JSON with all times"}};
  command.run = run_pipeline_export;
  return command;
}

}  // namespace weft::cli
