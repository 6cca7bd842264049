// SPDX-License-Identifier: Apache-2.0
// `weft pipeline PROFILE --model pipedream`: plans as PipeDream's optimizer does, in its own model.
// In this model machines form nested levels, each level has one bandwidth, and the pipeline never
// drains.
#include <fmt/format.h>

#include <chrono>

#include "cli/pipeline/pipeline.h"
#include "weft/base/decimal.h"
#include "weft/base/json/writer.h"
#include "weft/pipeline/rivals/pipedream.h"

namespace weft::cli {
namespace {

using pipeline::PipedreamAnswer;
using pipeline::PipedreamLevel;
using pipeline::PipedreamStage;

constexpr std::int64_t kMostDevices = 4096;  ///< product over all levels

/// Parses --devices "4x4" and --bandwidth "8e9,1.25e9" into the levels of PipeDream's cluster,
/// innermost first.
Result<std::vector<PipedreamLevel>> levels_of(const Arguments& arguments) {
  for (const char* flag : {"--devices", "--bandwidth"}) {
    if (!arguments.has(flag)) {
      return fail(
          ErrorCode::kUsage,
          fmt::format("{} is missing; PipeDream's model needs --devices and --bandwidth", flag));
    }
  }
  const std::string devices = arguments.all("--devices").back();
  std::vector<PipedreamLevel> levels;
  std::int64_t all = 1;
  for (std::string_view text = devices;;) {
    const std::size_t end = text.find('x');
    const std::string_view part = text.substr(0, end);
    const auto number = parse_digits(part);
    // The product is checked in each step, so it cannot overflow.
    if (!number || *number < 1 || *number > kMostDevices || (all *= *number) > kMostDevices) {
      return fail(ErrorCode::kUsage,
                  fmt::format("--devices: '{}' is not a number of devices from 1 to {}; write 16 "
                              "or 4x4",
                              devices, kMostDevices));
    }
    levels.push_back({static_cast<std::int32_t>(*number), 0});
    if (end == text.npos) break;
    text.remove_prefix(end + 1);
  }
  WEFT_ASSIGN(const auto rates,
              parse_bandwidths("--bandwidth", arguments.all("--bandwidth").back()));
  if (rates.size() != levels.size()) {
    return fail(
        ErrorCode::kUsage,
        fmt::format("--devices has {} levels and --bandwidth {}; give one bandwidth per level",
                    levels.size(), rates.size()));
  }
  for (std::size_t i = 0; i < levels.size(); ++i) levels[i].bandwidth = rates[i];
  return levels;
}

std::string json_of(const pipeline::Profile& profile, const PipedreamAnswer& answer,
                    double solve_ms) {
  JsonWriter json;
  json.begin_object().field("schema_version", 1).field("command", "pipeline");
  json.field("model", "pipedream").field("profile", profile.name);
  json.field("bottleneck_s", static_cast<double>(answer.bottleneck) * 1e-9);
  json.field("states", answer.states).field("solve_ms", solve_ms);
  json.key("stages").begin_array();
  for (const PipedreamStage& stage : answer.stages) {
    json.begin_object().field("replicas", stage.replicas).key("layers").begin_array();
    for (const std::int32_t layer : stage.layers) json.value(profile.layers[layer].id);
    json.end_array().end_object();
  }
  return json.end_array().end_object().take() + "\n";
}

/// One line per stage. It shows the id of the stage's first layer, and the name of this layer if it
/// differs from the id.
std::string text_of(const pipeline::Profile& profile, const PipedreamAnswer& answer) {
  std::string text = fmt::format("{}: slowest stage {:.3f} ms, in PipeDream's model\n",
                                 profile.name, static_cast<double>(answer.bottleneck) * 1e-6);
  text += fmt::format("{:>5}  {:>7}  {:>6}  {}\n", "stage", "devices", "layers", "first layer");
  for (std::size_t i = 0; i < answer.stages.size(); ++i) {
    const PipedreamStage& stage = answer.stages[i];
    const pipeline::Layer& first = profile.layers[stage.layers.front()];
    text += fmt::format("{:>5}  {:>7}  {:>6}  {}\n", i, stage.replicas, stage.layers.size(),
                        first.id == first.name ? first.id : first.id + " " + first.name);
  }
  return text;
}

}  // namespace

Result<ExitCode> run_pipedream(const Arguments& arguments, Console& console) {
  WEFT_ASSIGN(const std::vector<PipedreamLevel> levels, levels_of(arguments));
  // --drop-input-time has no effect here: like PipeDream, the solver leaves out layers called
  // Input.
  WEFT_ASSIGN(const pipeline::Profile profile, pipeline::read_profile(arguments.inputs.front()));
  const auto begin = std::chrono::steady_clock::now();
  WEFT_ASSIGN(const PipedreamAnswer answer, pipeline::solve_pipedream(profile, levels));
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
  console.result =
      arguments.has("--json") ? json_of(profile, answer, took.count()) : text_of(profile, answer);
  return ExitCode::kDone;
}

}  // namespace weft::cli
