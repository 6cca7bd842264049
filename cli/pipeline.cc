// SPDX-License-Identifier: Apache-2.0
// `weft pipeline`: stages, devices and order of a pipelined training step.
#include "cli/pipeline.h"

#include <fmt/format.h>

#include "cli/commands.h"
#include "weft/base/decimal.h"
#include "weft/reshard/price.h"

namespace weft::cli {

std::string value_or(const Arguments& arguments, const char* flag, const char* missing) {
  return arguments.has(flag) ? arguments.all(flag).back() : std::string(missing);
}

Result<std::vector<std::int64_t>> parse_bandwidths(const char* flag, std::string_view text) {
  std::vector<std::int64_t> list;
  for (;;) {
    const std::size_t end = text.find(',');
    const std::string_view part = text.substr(0, end);
    auto number = parse_int(part);
    if (!number) {
      const auto with_unit = reshard::parse_bandwidth(part);
      if (with_unit) number = *with_unit;
    }
    if (!number || *number < 1) {
      return fail(ErrorCode::kUsage,
                  fmt::format("{}: '{}' is no bandwidth; write 8e9 or 8GB/s", flag, part));
    }
    list.push_back(*number);
    if (end == text.npos) return list;
    text.remove_prefix(end + 1);
  }
}

namespace {

Result<ExitCode> run_pipeline(const Arguments& arguments, Console& console) {
  if (arguments.inputs.front() == "schedule") return run_pipeline_schedule(arguments, console);
  if (arguments.inputs.size() > 1) {
    return fail(
        ErrorCode::kUsage,
        fmt::format("'{}' is one argument too many (see weft help pipeline)", arguments.inputs[1]));
  }
  return run_pipedream(arguments, console);
}

}  // namespace

Subcommand pipeline_command() {
  Subcommand command;
  command.name = "pipeline";
  command.description = "cuts a model into the stages of a pipeline";
  command.inputs = "PROFILE | schedule INSTANCES";
  command.min_inputs = 1;
  command.max_inputs = 2;
  command.details =
      "PROFILE says what each layer of the model costs: a graph of PipeDream, a profile of DAPPLE, "
      "or JSON\n(docs/formats/pipeline.md). --model pipedream answers as PipeDream's optimizer "
      "does: the slowest\nstage of a pipeline that never drains.\n"
      "schedule finds the shortest order of micro-batches for given stages, and proves how short "
      "one can be.";
  command.examples = {
      Example{"weft pipeline graph.txt --model pipedream --devices 4x4 --bandwidth 8e9,1.25e9",
              "4 machines of 4 devices"},
      Example{"weft pipeline graph.txt --model pipedream --devices 8 --bandwidth 1e9 --json",
              "8 devices, for scripts"}};
  command.flags = {
      {"--model", "MODEL", "whose model of a pipeline", Flag::Value::kChoice, false, {"pipedream"}},
      {"--devices", "N", "devices, as 16, or 4x4: the second number of machines of the first",
       Flag::Value::kText},
      {"--bandwidth", "RATES", "bytes a second, one a level of --devices, as 8e9,1.25e9",
       Flag::Value::kText},
      {"--json", "", "JSON, schema_version 1 (docs/reference/cli.md)"}};
  for (Flag& flag : pipeline_schedule_flags()) command.flags.push_back(std::move(flag));
  command.run = run_pipeline;
  return command;
}

}  // namespace weft::cli
