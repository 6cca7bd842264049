// SPDX-License-Identifier: Apache-2.0
// `weft replay`: compares recorded steps with their replay, predicts the step without profiler, and
// predicts the step after changes to the job (what-ifs).
#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <string_view>

#include "cli/commands.h"
#include "cli/loading.h"
#include "cli/output.h"
#include "cli/replay_text.h"
#include "cli/shell/progress.h"
#include "weft/plan/plan.h"
#include "weft/predict/summary.h"

namespace weft::cli {
namespace {

/// A range of steps may not be longer than this, so that a mistyped number does not fill the
/// memory.
constexpr std::int64_t kMostSteps = 1'000'000;

std::optional<std::int64_t> parse_step(std::string_view text) {
  std::int64_t step = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), step);
  if (error != std::errc{} || stop != text.data() + text.size() || step < 0) return std::nullopt;
  return step;
}

/// Parses "4,5" or "10..14", as --steps of `weft record` takes it. The result is sorted and has no
/// duplicates.
Result<std::vector<std::int64_t>> parse_steps(const std::vector<std::string>& values) {
  std::vector<std::int64_t> steps;
  for (const std::string& value : values) {
    for (std::size_t at = 0; at <= value.size();) {
      const std::size_t comma = std::min(value.find(',', at), value.size());
      const std::string_view part = std::string_view(value).substr(at, comma - at);
      const std::size_t dots = part.find("..");
      const auto first = parse_step(part.substr(0, dots));
      const auto last = dots == part.npos ? first : parse_step(part.substr(dots + 2));
      if (!first || !last || *last < *first || *last - *first >= kMostSteps) {
        return fail(ErrorCode::kUsage,
                    fmt::format("--steps: '{}' is not a list of step numbers such as 4,5 or 10..14",
                                value));
      }
      for (std::int64_t step = *first; step <= *last; ++step) steps.push_back(step);
      at = comma + 1;
    }
  }
  std::sort(steps.begin(), steps.end());
  steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
  return steps;
}

struct ReplayRequest {
  std::vector<std::string> questions;
  predict::PredictOptions options;
};

/// Reads link tables and plans before the traces are loaded, so that a wrong file name fails at
/// once. Changes of plans apply before those of --what-if.
Result<ReplayRequest> read_replay_request(const Arguments& arguments) {
  ReplayRequest request;
  WEFT_ASSIGN(request.options.steps, parse_steps(arguments.all("--steps")));
  WEFT_ASSIGN(request.options.links, cost::read_links(arguments.all("--links")));
  for (const std::string& path : arguments.all("--plan")) {
    WEFT_ASSIGN(const plan::Plan plan, plan::read_plan(path));
    for (std::string& text : plan::questions(plan)) request.questions.push_back(std::move(text));
  }
  const auto& asked = arguments.all("--what-if");
  request.questions.insert(request.questions.end(), asked.begin(), asked.end());
  return request;
}

Status save_plan(const Arguments& arguments, const predict::PredictOptions& options,
                 const predict::ReplaySummary& summary, Console& console) {
  plan::Plan plan;
  plan.changes = plan::changes_of(options.what_ifs);
  plan.predicted_step = summary.prediction.predicted.step;
  plan.baseline_step = summary.prediction.baseline.step;
  plan.inputs = arguments.inputs;
  return write_output(console, arguments.all("-o").back(), plan::print_plan(plan));
}

Result<ExitCode> run_replay(const Arguments& arguments, Console& console) {
  WEFT_ASSIGN(ReplayRequest request, read_replay_request(arguments));
  Diagnostics diagnostics;
  WEFT_ASSIGN(const predict::Job job, open_job(arguments, console, diagnostics));
  Progress progress(console.err);
  auto& options = request.options;
  WEFT_ASSIGN(options.what_ifs, predict::parse_what_ifs(job, request.questions, options.links));
  progress.show("replaying");
  WEFT_ASSIGN(const predict::ReplaySummary summary, predict::summarise(job, options));
  progress.clear();
  predict::warn_untypical(summary, diagnostics);
  console.result = arguments.has("--json")
                       ? predict::summary_json(summary, diagnostics)
                       : replay_text(summary, arguments.has("--all"), console.out);
  console.notes = replay_notes(summary, diagnostics, console.err);
  // The page is shown even if --strict fails, because its notes tell the user why.
  if (arguments.has("--strict")) WEFT_TRY(diagnostics.strict());
  if (arguments.has("-o")) WEFT_TRY(save_plan(arguments, options, summary, console));
  return ExitCode::kDone;
}

std::vector<std::string> what_if_examples() {
  std::vector<std::string> examples;
  for (const predict::WhatIfKey& key : predict::what_if_keys()) examples.emplace_back(key.example);
  return examples;
}

}  // namespace

Subcommand replay_command() {
  Subcommand command;
  command.name = "replay";
  command.description = "shows what a step consists of, and predicts it after changes";
  command.inputs = "INPUT...";
  command.min_inputs = 1;
  command.details =
      "For each rank, the page shows the recorded steps with the error of their replay in "
      "percent, the baseline (the same job without profiler) and, with --what-if, the predicted "
      "step. The lines below it are about the slowest rank, with steps back to back. weft list "
      "what-ifs shows all what-ifs. If several are given, they apply together.";
  command.examples = {
      Example{"weft replay examples/resnet50-w4 --links examples/resnet50-w4/allreduce-w4.json",
              "use measured transfer times, and answer the most useful what-ifs"},
      Example{"weft replay examples/resnet50-w4 --what-if network.bandwidth=2x --json",
              "predict one change; JSON for other programs"}};
  command.flags = {
      {"--what-if", "KEY=VALUE", "a change to predict (weft list what-ifs)", Flag::Value::kText,
       true, what_if_examples()},
      {"--links", "TABLE", "measured transfer times (docs/formats/links.md)", Flag::Value::kFile,
       true},
      {"--steps", "LIST", "use only these recorded steps: 4,5 or 10..14", Flag::Value::kText, true},
      {"--plan", "FILE", "apply the changes of a plan, before those of --what-if",
       Flag::Value::kFile, true},
      {"-o", "FILE", "write the what-ifs as a plan (docs/formats/plan.md)", Flag::Value::kFile}};
  for (Flag& flag : loading_flags()) command.flags.push_back(std::move(flag));
  command.flags.push_back({"--all", "", "show every rank and step, however long the page gets"});
  command.flags.push_back({"--json", "", "print JSON, schema_version 1 (docs/reference/cli.md)"});
  command.run = run_replay;
  return command;
}

}  // namespace weft::cli
