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

/// The memory that the plan needs when it runs, on the device that needs the most.
std::string reshard_memory_text(const reshard::execute::Footprint& footprint);

/// The report of a file of problems. It has a line for each problem that is not ok, or for each
/// problem if `everything`. The counts follow.
std::string reshard_cases_text(const std::vector<reshard::Case>& cases,
                               const std::vector<reshard::Outcome>& outcomes, bool everything,
                               const Terminal& terminal);

/// The memory of the problem that needs the most memory, among all problems of a file. Empty if no
/// problem has a footprint.
std::string reshard_most_memory_text(
    const std::vector<reshard::Case>& cases,
    const std::vector<std::optional<reshard::execute::Footprint>>& footprints);

/// Lists the devices that take over the part of another device: "2 as 5" if device 2 takes over the
/// part of device 5.
std::string reshard_labels_text(const std::vector<std::pair<std::int64_t, std::int64_t>>& labels);

/// The load of all arrays that move at once: how much data moves, and how evenly it is distributed.
std::string reshard_together_text(const reshard::JointSummary& together);

}  // namespace weft::cli
