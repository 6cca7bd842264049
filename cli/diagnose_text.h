// SPDX-License-Identifier: Apache-2.0
// The pages that `weft diagnose` prints for people.
#pragma once

#include <string>
#include <vector>

#include "cli/shell/terminal.h"
#include "weft/diagnose/diagnosis.h"

namespace weft::cli {

/// The page about all ranks. Unless `everything` is true, it fits into 24 lines: if some ranks or
/// findings have no room, the page only says how many.
std::string diagnosis_text(const diagnose::Diagnosis& diagnosis,
                           const std::vector<std::string>& inputs, bool everything,
                           const Terminal& terminal);

/// The page about one finding (index from 0): where it is, what to do, the ops it consists of.
std::string finding_text(const predict::Job& job, const diagnose::Diagnosis& diagnosis,
                         std::size_t index, const std::vector<std::string>& inputs,
                         const Terminal& terminal);

}  // namespace weft::cli
