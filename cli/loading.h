// SPDX-License-Identifier: Apache-2.0
// Reading traces as every verb does it: the same flags, a progress line, Ctrl-C.
#pragma once

#include <string>
#include <vector>

#include "cli/subcommand.h"
#include "weft/base/diagnostics.h"
#include "weft/trace/load.h"

namespace weft::cli {

/// --run, --strict, --threads.
std::vector<Flag> loading_flags();

/// Loads `arguments.inputs`. --strict is left to the verb, which may have more to complain about.
Result<trace::Recording> load_inputs(const Arguments& arguments, const Console& console,
                                     Diagnostics& diagnostics);

/// The same for a verb with several recordings: one of them, and which of its runs (empty: all).
Result<trace::Recording> load_input(const std::string& input, const std::string& run,
                                    const Arguments& arguments, const Console& console,
                                    Diagnostics& diagnostics);

}  // namespace weft::cli
