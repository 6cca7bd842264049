// SPDX-License-Identifier: Apache-2.0
// Reads traces in the same way for every verb: with the same flags and a progress line. Ctrl-C
// stops the reading.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cli/shell/progress.h"
#include "cli/subcommand.h"
#include "weft/base/diagnostics.h"
#include "weft/predict/job.h"
#include "weft/trace/runs/load.h"

namespace weft::cli {

/// The flags of all verbs that read traces: --run, --strict, --threads.
std::vector<Flag> loading_flags();

/// Applies --threads.
void set_threads(const Arguments& arguments);
/// A callback that shows how much has been read. It returns false after Ctrl-C, which stops
/// reading. `progress` must outlive it.
std::function<bool(std::int64_t done, std::int64_t total)> reading_progress(Progress& progress);

/// Loads `arguments.inputs`. The verb itself must check --strict, because it may add diagnostics.
Result<trace::Recording> load_inputs(const Arguments& arguments, const Console& console,
                                     Diagnostics& diagnostics);

/// Loads `arguments.inputs` and builds the graph of the only run, or of the run that --run names.
Result<predict::Job> open_job(const Arguments& arguments, const Console& console,
                              Diagnostics& diagnostics);
/// Like open_job() above, but loads only `input`. Verbs that take several recordings use it, such
/// as `weft diff A B`. `run_flag` is the flag that names the run of this input.
Result<predict::Job> open_job(const std::string& input, const char* run_flag,
                              const Arguments& arguments, const Console& console,
                              Diagnostics& diagnostics);

}  // namespace weft::cli
