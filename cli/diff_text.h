// SPDX-License-Identifier: Apache-2.0
// The page that `weft diff` prints for people.
#pragma once

#include <optional>
#include <string>

#include "cli/shell/terminal.h"
#include "weft/diagnose/compare.h"

namespace weft::cli {

/// Unless `everything` is true, the page fits into 24 lines and shows only the largest changes.
std::string diff_text(const diagnose::Comparison& comparison, std::optional<double> limit,
                      bool everything, const Terminal& terminal);

}  // namespace weft::cli
