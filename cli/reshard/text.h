// SPDX-License-Identifier: Apache-2.0
// The pages that `weft reshard` prints for people.
#pragma once

#include <string>
#include <vector>

#include "cli/shell/terminal.h"
#include "weft/reshard/check/outcome.h"
#include "weft/reshard/execute/program/footprint.h"

namespace weft::cli {

/// One problem: its steps, and how far they are from the bounds.
std::string reshard_text(const reshard::Case& item, const reshard::Outcome& outcome,
                         const Terminal& terminal);

/// What lives on the device that needs most when it runs.
std::string reshard_memory_text(const reshard::execute::Footprint& footprint);

/// Many: a line for each that is not ok (or for all of them), then the counts.
std::string reshard_cases_text(const std::vector<reshard::Case>& cases,
                               const std::vector<reshard::Outcome>& outcomes, bool everything,
                               const Terminal& terminal);

/// All arrays at once: how much moves, and how evenly.
/// Of a file of problems: those that need most memory; empty without footprints.
std::string reshard_most_memory_text(
    const std::vector<reshard::Case>& cases,
    const std::vector<std::optional<reshard::execute::Footprint>>& footprints);

/// Devices that take the part of another, each with it.
std::string reshard_labels_text(const std::vector<std::pair<std::int64_t, std::int64_t>>& labels);

std::string reshard_together_text(const reshard::JointSummary& together);

}  // namespace weft::cli
