// SPDX-License-Identifier: Apache-2.0
// The page that `weft replay` prints for people, and its notes.
#pragma once

#include <string>

#include "cli/shell/terminal.h"
#include "weft/base/diagnostics.h"
#include "weft/predict/summary.h"

namespace weft::cli {

/// One page. Where `everything` is false it fits 24 lines for up to 8 ranks and 4 steps: what does
/// not fit is counted, and the flag that shows it named.
std::string replay_text(const predict::ReplaySummary& summary, bool everything,
                        const Terminal& terminal);

/// What was assumed or left out, one line each: for stderr.
std::string replay_notes(const predict::ReplaySummary& summary, const Diagnostics& diagnostics,
                         const Terminal& terminal);

}  // namespace weft::cli
