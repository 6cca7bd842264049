// SPDX-License-Identifier: Apache-2.0
// `weft pipeline profile RECORDING...`: writes what each layer of a recorded model costs.
#include <fmt/format.h>

#include "cli/loading.h"
#include "cli/output.h"
#include "cli/pipeline/pipeline.h"
#include "cli/shell/notes.h"
#include "weft/base/counted.h"
#include "weft/pipeline/recorded/profile.h"

namespace weft::cli {
namespace {

Result<ExitCode> run_pipeline_profile(const Arguments& arguments, Console& console) {
  Diagnostics diagnostics;
  WEFT_ASSIGN(const predict::Job job, open_job(arguments, console, diagnostics));
  WEFT_ASSIGN(const pipeline::Profile profile,
              pipeline::recorded::recorded_profile(job, diagnostics));
  const std::string json = pipeline::recorded::profile_json(profile);
  if (arguments.has("-o")) {
    WEFT_TRY(write_output(console, arguments.all("-o").back(), json));
    console.result = fmt::format("{}: {}\n", arguments.all("-o").back(),
                                 counted(profile.layers.size(), "layer"));
  } else {
    console.result = json;
  }
  Notes notes(console.err);
  notes.add(diagnostics);
  console.notes = notes.text();
  // Check --strict last, so that the profile is written even if the exit status is an error.
  if (arguments.has("--strict")) WEFT_TRY(diagnostics.strict());
  return ExitCode::kDone;
}

}  // namespace

Subcommand pipeline_profile_command() {
  Subcommand command;
  command.name = "pipeline profile";
  command.description = "writes what each layer of a recorded model costs, for planning";
  command.inputs = "RECORDING...";
  command.min_inputs = 1;
  command.details =
      "If the recording has modules (weft record --stacks), layers are the modules that the model "
      "calls one after the other. Otherwise each repetition of a sequence of kernels is a layer. "
      "The times are those of one micro-batch on the device, without profiler.";
  command.examples = {
      Example{"weft pipeline profile traces/ -o profile.json", "a PROFILE for weft pipeline"},
      Example{"weft pipeline profile traces/", "the same, printed as JSON"}};
  command.flags = {
      {"-o", "FILE", "write to this file instead of standard output", Flag::Value::kFile},
      {"--json", "", "has no effect: a profile is always JSON"}};
  for (Flag& flag : loading_flags()) command.flags.push_back(std::move(flag));
  command.run = run_pipeline_profile;
  return command;
}

}  // namespace weft::cli
