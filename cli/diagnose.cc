// SPDX-License-Identifier: Apache-2.0
// `weft diagnose`: what costs the step how much, and what removing it would give.
#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/diagnose_text.h"
#include "cli/loading.h"
#include "cli/shell/notes.h"
#include "cli/shell/progress.h"
#include "weft/diagnose/diagnosis.h"

namespace weft::cli {
namespace {

Result<ExitCode> run_diagnose(const Arguments& arguments, Console& console) {
  Diagnostics diagnostics;
  WEFT_ASSIGN(const predict::Job job, open_job(arguments, console, diagnostics));
  Progress progress(console.err);
  progress.show("taking things out and replaying");
  WEFT_ASSIGN(const diagnose::Diagnosis diagnosis, diagnose::diagnose(job));
  progress.clear();
  const std::optional<std::int64_t> number = arguments.whole("--finding");
  const std::size_t count = diagnosis.findings.size();
  if (number && (*number < 1 || *number > static_cast<std::int64_t>(count))) {
    return fail(ErrorCode::kUsage,
                count == 0
                    ? std::string("--finding: this recording has no findings")
                    : fmt::format("--finding {}: there are findings 1 to {}", *number, count));
  }
  std::vector<std::string> inputs = arguments.inputs;
  if (arguments.has("--run")) inputs.insert(inputs.end(), {"--run", arguments.all("--run").back()});
  if (arguments.has("--json")) {
    console.result = diagnose::diagnosis_json(job, diagnosis, inputs, diagnostics);
  } else if (number) {
    console.result =
        finding_text(job, diagnosis, static_cast<std::size_t>(*number - 1), inputs, console.out);
  } else {
    console.result = diagnosis_text(diagnosis, inputs, arguments.has("--all"), console.out);
  }
  Notes notes(console.err);
  notes.add(diagnostics);
  console.notes = notes.text();
  if (arguments.has("--strict")) WEFT_TRY(diagnostics.strict());
  return ExitCode::kDone;
}

}  // namespace

Subcommand diagnose_command() {
  Subcommand command;
  command.name = "diagnose";
  command.description = "where the step goes, who is late, and what removing it would give";
  command.inputs = "INPUT...";
  command.min_inputs = 1;
  command.details =
      "Causes of every rank's time add up to its step. Findings are sorted by what the step would\n"
      "gain without them: each is taken out of the job, and the rest replayed. The job is shown "
      "as\n"
      "recorded, profiler and all; weft replay predicts it without.";
  command.examples = {Example{"weft diagnose examples/resnet50-w4", "the page"},
                      Example{"weft diagnose examples/resnet50-w4 --finding 1",
                              "all about the largest finding, and what to do"}};
  command.flags = {
      {"--finding", "N", "show one finding: where, what to do, its ops", Flag::Value::kWhole}};
  for (Flag& flag : loading_flags()) command.flags.push_back(std::move(flag));
  command.flags.push_back({"--all", "", "every rank and finding, however long"});
  command.flags.push_back({"--json", "", "JSON, schema_version 1 (docs/reference/cli.md)"});
  command.run = run_diagnose;
  return command;
}

}  // namespace weft::cli
