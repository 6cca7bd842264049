// SPDX-License-Identifier: Apache-2.0
// `weft pipeline profile RECORDING...`: what each layer of a recorded model costs.
#include <fmt/format.h>

#include "cli/loading.h"
#include "cli/pipeline/pipeline.h"
#include "cli/shell/notes.h"
#include "weft/base/counted.h"
#include "weft/base/file.h"
#include "weft/pipeline/recorded/profile.h"

namespace weft::cli {

Result<ExitCode> run_pipeline_profile(const Arguments& all, Console& console) {
  Arguments arguments = all;
  arguments.inputs.erase(arguments.inputs.begin());
  if (arguments.inputs.empty()) {
    return fail(ErrorCode::kUsage, "which recording? weft pipeline profile RECORDING...");
  }
  Diagnostics diagnostics;
  WEFT_ASSIGN(const predict::Job job, open_job(arguments, console, diagnostics));
  WEFT_ASSIGN(const pipeline::Profile profile,
              pipeline::recorded::recorded_profile(job, diagnostics));
  const std::string json = pipeline::recorded::profile_json(profile);
  if (arguments.has("-o")) {
    WEFT_TRY(write_file(arguments.all("-o").back(), json));
    console.result = fmt::format("{}: {}\n", arguments.all("-o").back(),
                                 counted(profile.layers.size(), "layer"));
  } else {
    console.result = json;
  }
  Notes notes(console.err);
  notes.add(diagnostics);
  console.notes = notes.text();
  if (arguments.has("--strict")) WEFT_TRY(diagnostics.strict());
  return ExitCode::kDone;
}

}  // namespace weft::cli
