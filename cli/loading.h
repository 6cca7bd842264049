// SPDX-License-Identifier: Apache-2.0
// Reading traces as every verb does it: the same flags, a progress line, Ctrl-C.
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

/// --run, --strict, --threads.
std::vector<Flag> loading_flags();

/// As --threads says.
void set_threads(const Arguments& arguments);
/// Shows how far reading is; false once interrupted. `progress` must outlive it.
std::function<bool(std::int64_t done, std::int64_t total)> reading_progress(Progress& progress);

/// Loads `arguments.inputs`. --strict is left to the verb, which may have more to complain about.
Result<trace::Recording> load_inputs(const Arguments& arguments, const Console& console,
                                     Diagnostics& diagnostics);

/// Loads them and builds the graph of the one run there is or that --run names.
Result<predict::Job> open_job(const Arguments& arguments, const Console& console,
                              Diagnostics& diagnostics);
/// The same for one of several recordings, and the run of it that `run_flag` names.
Result<predict::Job> open_job(const std::string& input, const char* run_flag,
                              const Arguments& arguments, const Console& console,
                              Diagnostics& diagnostics);

}  // namespace weft::cli
