// SPDX-License-Identifier: Apache-2.0
// `weft pipeline`: plans stages, devices and order of a pipelined training step. This file declares
// the verb and lists its sub-verbs. Each sub-verb is declared in the file that has its name.
#include "cli/pipeline/pipeline.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/commands.h"
#include "weft/base/decimal.h"
#include "weft/base/size.h"
#include "weft/pipeline/model/cluster.h"
#include "weft/pipeline/rivals/rivals.h"

namespace weft::cli {

std::string value_or(const Arguments& arguments, const char* flag, const char* missing) {
  return arguments.has(flag) ? arguments.all(flag).back() : std::string(missing);
}

Result<std::vector<std::int64_t>> parse_bandwidths(const char* flag, std::string_view text) {
  std::vector<std::int64_t> list;
  // A plain number is bytes per second; anything else needs a unit.
  for (;;) {
    const std::size_t end = text.find(',');
    const std::string_view part = text.substr(0, end);
    auto number = parse_int(part);
    if (!number) number = pipeline::parse_link_rate(part);
    if (!number || *number < 1) {
      return fail(
          ErrorCode::kUsage,
          fmt::format("{}: '{}' is not a bandwidth; write 8e9, 8GB/s or 10Gbit", flag, part));
    }
    list.push_back(*number);
    if (end == text.npos) return list;
    text.remove_prefix(end + 1);
  }
}

Result<pipeline::Profile> open_profile(const Arguments& arguments, const std::string& path,
                                       Diagnostics& diagnostics) {
  WEFT_ASSIGN(pipeline::Profile profile, pipeline::read_profile(path));
  if (arguments.has("--drop-input-time")) pipeline::drop_input_time(profile);
  pipeline::note_input_time(profile, diagnostics);
  return profile;
}

Status check_memory_flag(const Arguments& arguments) {
  const std::vector<std::string>& inputs = arguments.inputs;
  const auto size = std::find_if(inputs.begin(), inputs.end(), parse_bytes);
  if (!arguments.has("--memory") || size == inputs.end()) return {};
  return fail(ErrorCode::kUsage,
              fmt::format("--memory takes no size; write --device-memory {}", *size));
}

namespace {

/// What --planner takes: Weft and all other planners.
std::vector<std::string> planners() {
  std::vector<std::string> names = pipeline::rivals();
  names.insert(names.begin(), "weft");
  return names;
}

/// `weft pipeline PROFILE` either plans or, with --model, answers in the model of another planner.
/// Planning and --model take different flags. A flag that would have no effect is refused, because
/// the user expects an effect.
Status check_model_flags(const Arguments& arguments, const std::vector<Flag>& flags) {
  constexpr std::string_view kOfModel[] = {"--model", "--devices", "--bandwidth"};
  constexpr std::string_view kOfBoth[] = {"--drop-input-time", "--json"};
  const bool in_model = arguments.has("--model");
  for (const Flag& flag : flags) {
    const bool of_model =
        std::find(std::begin(kOfModel), std::end(kOfModel), flag.name) != std::end(kOfModel);
    const bool of_both =
        std::find(std::begin(kOfBoth), std::end(kOfBoth), flag.name) != std::end(kOfBoth);
    if (of_both || of_model == in_model || !arguments.has(flag.name)) continue;
    return fail(ErrorCode::kUsage,
                fmt::format("{} does not go with {} (see weft help pipeline)", flag.name,
                            in_model ? "--model" : "planning; it goes with --model"));
  }
  return {};
}

/// Flags of `weft pipeline PROFILE`.
std::vector<Flag> bare_flags() {
  std::vector<Flag> flags = planning_flags();
  const std::vector<Flag> more = {
      {"--compare", "", "also show the step of the plans of other planners"},
      {"--planner", "NAME",
       "write the plan of this planner (see weft pipeline compare); default: weft",
       Flag::Value::kChoice, false, planners()},
      {"-o", "FILE", "write the plan to this file", Flag::Value::kFile},
      {"--model",
       "MODEL",
       "instead of planning, show the plan that another planner makes in its own cost model",
       Flag::Value::kChoice,
       false,
       {"pipedream"}},
      {"--devices", "N", "with --model: number of devices: 16, or 4x4 for 4 machines of 4 devices",
       Flag::Value::kText},
      {"--bandwidth", "RATES",
       "with --model: bytes per second within a machine, between machines: 8e9,1.25e9",
       Flag::Value::kText}};
  flags.insert(flags.end(), more.begin(), more.end());
  return flags;
}

Result<ExitCode> run_pipeline(const Arguments& arguments, Console& console) {
  return arguments.has("--model") ? run_pipedream(arguments, console)
                                  : run_pipeline_plan(arguments, console);
}

}  // namespace

Subcommand pipeline_command() {
  Subcommand command;
  command.name = "pipeline";
  command.description = "cuts a model into stages and puts them on devices";
  command.inputs = "PROFILE";
  command.min_inputs = 1;
  command.max_inputs = 1;
  command.details =
      "Without a sub-verb, it plans: it finds stages, devices and an order of micro-batches so "
      "that the simulated step is as short as possible. It also finds a lower bound that no plan "
      "can beat. `weft verify` checks the plan.\n\n"
      "PROFILE says what each layer of the model costs: a graph of PipeDream, a profile of DAPPLE "
      "or SPP, an instance of dnn-partitioning or Piper, a table of Chimera, or JSON. --cluster "
      "says what devices there are: a file, or a description such as '8x H100 nvlink, 4 hosts, "
      "400Gb' or '4 devices, 12.5GB/s'. docs/formats/pipeline.md describes both.\n\n"
      "--model pipedream plans as PipeDream's optimizer does: it minimizes the time of the slowest "
      "stage of a pipeline that never drains. --devices and --bandwidth describe the machines.";
  command.examples = {
      Example{"weft pipeline examples/pipeline/gpt8l.json --cluster '4 devices, 12.5GB/s' "
              "--microbatches 8",
              "stages, devices and order of a step"},
      Example{"weft pipeline graph.txt --model pipedream --devices 4x4 --bandwidth 8e9,1.25e9",
              "PipeDream's answer for 4 machines of 4 devices"}};
  command.flags = bare_flags();
  command.bare_name = "planning";
  command.check = [](const Arguments& arguments) -> Status {
    WEFT_TRY(check_model_flags(arguments, bare_flags()));
    return check_memory_flag(arguments);
  };
  command.run = run_pipeline;
  command.sub_verbs = {pipeline_compare_command(), pipeline_schedule_command(),
                       pipeline_gantt_command(),   pipeline_export_command(),
                       pipeline_profile_command(), pipeline_predict_command(),
                       pipeline_replan_command()};
  return command;
}

}  // namespace weft::cli
