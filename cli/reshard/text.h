// SPDX-License-Identifier: Apache-2.0
// The text that `weft reshard` prints without --json.
#pragma once

#include <string>
#include <vector>

#include "cli/shell/terminal.h"
#include "weft/reshard/check/outcome.h"
#include "weft/reshard/execute/program/footprint.h"

namespace weft::cli {

/// The report of one problem: the steps of its plan, and how far it is from the lower bounds.
std::string reshard_text(const reshard::Case& item, const reshard::Outcome& outcome,
                         const Terminal& terminal);

/// The memory of the device that needs most when the plan runs.
std::string reshard_memory_text(const reshard::execute::Footprint& footprint);

/// The report of a file of problems: a line for each problem that is not ok (for all of them if
/// `everything`), then the counts.
std::string reshard_cases_text(const std::vector<reshard::Case>& cases,
                               const std::vector<reshard::Outcome>& outcomes, bool everything,
                               const Terminal& terminal);

/// The memory of the problem in a file that needs most; empty without footprints.
std::string reshard_most_memory_text(
    const std::vector<reshard::Case>& cases,
    const std::vector<std::optional<reshard::execute::Footprint>>& footprints);

/// The devices that take over the part of another device, each with that device.
std::string reshard_labels_text(const std::vector<std::pair<std::int64_t, std::int64_t>>& labels);

/// The load of all arrays that move at once: how much moves, and how evenly.
std::string reshard_together_text(const reshard::JointSummary& together);

}  // namespace weft::cli
