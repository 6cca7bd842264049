// SPDX-License-Identifier: Apache-2.0
// `weft diff`: compares two runs, or a run with its prediction. With --fail-above, it can make a CI
// job fail if the step got longer.
#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "cli/commands.h"
#include "cli/diff_text.h"
#include "cli/loading.h"
#include "cli/shell/notes.h"
#include "weft/diagnose/compare.h"
#include "weft/plan/plan.h"

namespace weft::cli {
namespace {

/// Parses --fail-above: "3%" and "3" give 0.03. Returns nothing if the flag is not given.
Result<std::optional<double>> parse_limit(const Arguments& arguments) {
  if (!arguments.has("--fail-above")) return std::optional<double>{};
  const std::string& text = arguments.all("--fail-above").back();
  const char* end = text.data() + text.size() - (text.ends_with('%') ? 1 : 0);
  double percent = 0;
  const auto [stop, error] = std::from_chars(text.data(), end, percent);
  if (error != std::errc{} || stop != end || !std::isfinite(percent) || percent < 0) {
    return fail(ErrorCode::kUsage,
                fmt::format("--fail-above: '{}' is not a percentage such as 3%", text));
  }
  return std::optional<double>{percent / 100};
}

Result<diagnose::Comparison> compare_inputs(const Arguments& arguments, const Console& console,
                                            Diagnostics& diagnostics) {
  diagnose::CompareOptions options;
  options.what_ifs = arguments.all("--what-if");
  WEFT_ASSIGN(options.links, cost::read_links(arguments.all("--links")));
  // A may be a plan. Then its predicted step is compared with B, and only B is loaded.
  const std::string& a = arguments.inputs[0];
  const std::string& b = arguments.inputs[1];
  if (a == "-" && b == "-") {
    return fail(ErrorCode::kUsage, "standard input is only one run; name a file for the other run");
  }
  if (plan::is_plan(a)) {
    WEFT_ASSIGN(const plan::Plan plan, plan::read_plan(a));
    WEFT_ASSIGN(const predict::Job after, open_job(b, "--run-b", arguments, console, diagnostics));
    return diagnose::compare(plan, "the plan " + a, after, options);
  }
  WEFT_ASSIGN(const predict::Job before, open_job(a, "--run-a", arguments, console, diagnostics));
  WEFT_ASSIGN(const predict::Job after, open_job(b, "--run-b", arguments, console, diagnostics));
  return diagnose::compare(before, after, options);
}

Result<ExitCode> run_diff(const Arguments& arguments, Console& console) {
  WEFT_ASSIGN(const std::optional<double> limit, parse_limit(arguments));
  Diagnostics diagnostics;
  WEFT_ASSIGN(const diagnose::Comparison comparison,
              compare_inputs(arguments, console, diagnostics));
  console.result = arguments.has("--json")
                       ? diagnose::comparison_json(comparison, limit, diagnostics)
                       : diff_text(comparison, limit, arguments.has("--all"), console.out);
  Notes notes(console.err);
  notes.add(diagnostics);
  const std::size_t before = comparison.before_ranks, after = comparison.after_ranks;
  if (before > 0 && after > 0 && before != after) {
    notes.add(
        Tone::kWarning,
        fmt::format("a run of {} ranks is compared with a run of {}: steps of jobs of different "
                    "size are hardly comparable",
                    before, after));
  }
  console.notes = notes.text();
  if (arguments.has("--strict")) WEFT_TRY(diagnostics.strict());
  return limit && comparison.exceeds(*limit) ? ExitCode::kAnswerIsNo : ExitCode::kDone;
}

}  // namespace

Subcommand diff_command() {
  Subcommand command;
  command.name = "diff";
  command.description = "compares two runs, or a run with its prediction";
  command.inputs = "A B";
  command.min_inputs = 2;
  command.max_inputs = 2;
  command.details =
      "Shows what changes from A to B: the step, each cause of its time, and the ops that are "
      "slower, faster, missing or new. With --what-if, or if A is a plan, Weft compares the "
      "step that is predicted from A with the step of B; the two steps are without profiler. With "
      "--fail-above the exit status is 1 if the step of B is longer by more than the limit and the "
      "change is beyond the noise.";
  command.examples = {Example{"weft diff before/ after/ --fail-above 3%",
                              "exit with 1 if the step got more than 3 % longer"},
                      Example{"weft diff before/ after/ --what-if ddp.bucket_mb=100",
                              "did the change have the predicted effect?"}};
  command.flags = {
      {"--fail-above", "3%", "exit with 1 if the step got longer by more than this and the noise",
       Flag::Value::kText},
      {"--what-if", "KEY=VALUE", "apply this change to A and compare the prediction with B",
       Flag::Value::kText, true},
      {"--links", "TABLE", "measured transfer times for predictions (docs/formats/links.md)",
       Flag::Value::kText, true},
      {"--run-a", "N", "which run of A, if A holds several: its number or label",
       Flag::Value::kText},
      {"--run-b", "N", "which run of B, if B holds several: its number or label",
       Flag::Value::kText}};
  for (Flag& flag : loading_flags()) {
    if (flag.name != "--run") command.flags.push_back(std::move(flag));
  }
  command.flags.push_back({"--all", "", "show every op, however long the page gets"});
  command.flags.push_back({"--json", "", "print JSON, schema_version 1 (docs/reference/cli.md)"});
  command.run = run_diff;
  return command;
}

}  // namespace weft::cli
