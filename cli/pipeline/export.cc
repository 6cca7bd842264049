// SPDX-License-Identifier: Apache-2.0
// `weft pipeline export PLAN --to FORMAT`: a plan, or a schedule of given stages, for others to
// run.
#include <fmt/format.h>

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

/// A plan keeps its orders; given stages get the schedule that is asked for, or the best.
Result<Scheduled> scheduled_of(const Arguments& arguments) {
  const std::string& path = arguments.inputs.at(1);
  WEFT_ASSIGN(const std::string text, read_file(path));
  WEFT_ASSIGN(const JsonValue root, parse_json(text, path));
  if (root.find("instances")) {
    WEFT_ASSIGN(const std::vector<Pipeline> pipelines, chosen_instances(arguments));
    if (pipelines.size() != 1) {
      return fail(ErrorCode::kUsage,
                  fmt::format("one of the {} pipelines can be exported; pick it with --instance",
                              pipelines.size()));
    }
    const std::string name = value_or(arguments, "--schedule", "searched");
    WEFT_ASSIGN(const Schedule schedule, schedule_of_instance(arguments, name, pipelines.front()));
    return exports::scheduled_pipeline(pipelines.front(), schedule, name);
  }
  for (const char* flag : {"--instance", "--schedule"}) {
    if (!arguments.has(flag)) continue;
    return fail(ErrorCode::kUsage,
                fmt::format("{} is for files of instances; a plan has its schedule", flag));
  }
  WEFT_ASSIGN(const ReadPlan plan, parse_plan(text, path));
  return exports::scheduled_plan(plan);
}

Result<Exported> exported(const Arguments& arguments, const Scheduled& scheduled) {
  const std::string& format = arguments.all("--to").back();
  if (format == "json") return exports::json_schedule(scheduled);
  if (format == "megatron") return exports::megatron_layout(scheduled);
  exports::TorchVersion version;
  if (arguments.has("--torch")) {
    WEFT_ASSIGN(version, exports::parse_torch_version(arguments.all("--torch").back()));
  }
  return exports::torch_csv(scheduled,
                            format == "torch-csv" ? exports::TorchFormat::kComputeOnly
                                                  : exports::TorchFormat::kComputeComms,
                            version);
}

}  // namespace

Result<ExitCode> run_pipeline_export(const Arguments& arguments, Console& console) {
  if (arguments.inputs.size() != 2) {
    return fail(ErrorCode::kUsage, "export which PLAN? weft pipeline export PLAN --to FORMAT");
  }
  if (!arguments.has("--to")) {
    return fail(ErrorCode::kUsage, "--to is missing: torch-csv, torch-comms-csv, megatron or json");
  }
  WEFT_ASSIGN(const Scheduled scheduled, scheduled_of(arguments));
  WEFT_ASSIGN(Exported result, exported(arguments, scheduled));
  if (arguments.has("-o")) {
    WEFT_TRY(write_file(arguments.all("-o").back(), result.text));
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

std::vector<Flag> pipeline_export_flags() {
  return {
      {"--to",
       "FORMAT",
       "with export: torch-csv (ops), torch-comms-csv (with messages), megatron (layout) or json",
       Flag::Value::kChoice,
       false,
       {"torch-csv", "torch-comms-csv", "megatron", "json"}},
      {"--torch", "VERSION", "with export: the torch that will read it; without: 2.13",
       Flag::Value::kText}};
}

}  // namespace weft::cli
