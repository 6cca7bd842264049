// SPDX-License-Identifier: Apache-2.0
// The page that `weft replay` prints for people, and its notes.
#pragma once

#include <string>

#include "cli/shell/terminal.h"
#include "weft/base/diagnostics.h"
#include "weft/predict/summary.h"

namespace weft::cli {

/// One page. Unless `everything` is true, a page of up to 8 ranks fits into 24 lines. If something
/// has no room, the page says how much was left out, and names the flag that shows it.
std::string replay_text(const predict::ReplaySummary& summary, bool everything,
                        const Terminal& terminal);

/// Notes for stderr about what was assumed or left out, one line each.
std::string replay_notes(const predict::ReplaySummary& summary, const Diagnostics& diagnostics,
                         const Terminal& terminal);

}  // namespace weft::cli
