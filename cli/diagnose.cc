// SPDX-License-Identifier: Apache-2.0
// `weft diagnose`: shows how the step of each rank spends its time, and how much shorter the step
// would be without each cause of lost time.
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
  predict::PredictOptions options;
  WEFT_ASSIGN(options.links, cost::read_links(arguments.all("--links")));
  WEFT_ASSIGN(const predict::Job job, open_job(arguments, console, diagnostics));
  Progress progress(console.err);
  progress.show("predicting the job without each finding");
  WEFT_ASSIGN(const predict::Predictor predictor, predict::Predictor::make(job, options));
  WEFT_ASSIGN(const diagnose::Diagnosis diagnosis, diagnose::diagnose(job, predictor));
  progress.clear();
  const std::optional<std::int64_t> number = arguments.whole("--finding");
  const std::size_t count = diagnosis.findings.size();
  if (number && (*number < 1 || *number > static_cast<std::int64_t>(count))) {
    return fail(ErrorCode::kUsage,
                count == 0
                    ? std::string("--finding: this recording has no findings")
                    : fmt::format("--finding {}: findings are numbered 1 to {}", *number, count));
  }
  // The page and the JSON show commands to copy. These commands must use the same --run.
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
  command.description = "shows what costs time, which rank is late, what a fix would gain";
  command.inputs = "INPUT...";
  command.min_inputs = 1;
  command.details =
      "For each rank, the times of all causes add up to its step. A finding is one cause of "
      "lost time. Its gain is how much shorter the step would be without it. Weft removes the "
      "finding from the job and predicts the step of the rest, as weft replay does. Findings are "
      "sorted by gain. Gains do not include the overhead of the profiler; all other times do.";
  command.examples = {Example{"weft diagnose examples/resnet50-w4", "one page about all ranks"},
                      Example{"weft diagnose examples/resnet50-w4 --finding 1",
                              "details of the finding with the largest gain, and what to do"}};
  command.flags = {
      {"--finding", "N", "show only finding N: where it is, what to do, which ops it consists of",
       Flag::Value::kWhole},
      {"--links", "TABLE", "predict gains with measured transfer times (docs/formats/links.md)",
       Flag::Value::kFile, true}};
  for (Flag& flag : loading_flags()) command.flags.push_back(std::move(flag));
  command.flags.push_back({"--all", "", "show every rank and finding, however long the page gets"});
  command.flags.push_back({"--json", "", "print JSON, schema_version 2 (docs/reference/cli.md)"});
  command.run = run_diagnose;
  return command;
}

}  // namespace weft::cli
