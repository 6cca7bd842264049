// SPDX-License-Identifier: Apache-2.0
// The pages that `weft diagnose` prints for people.
#pragma once

#include <string>
#include <vector>

#include "cli/shell/terminal.h"
#include "weft/diagnose/diagnosis.h"

namespace weft::cli {

/// One page. Where `everything` is false it fits 24 lines: ranks and findings beyond are counted.
std::string diagnosis_text(const diagnose::Diagnosis& diagnosis,
                           const std::vector<std::string>& inputs, bool everything,
                           const Terminal& terminal);

/// All about one finding (index from 0): where it is, what to do, the ops it is made of.
std::string finding_text(const predict::Job& job, const diagnose::Diagnosis& diagnosis,
                         std::size_t index, const std::vector<std::string>& inputs,
                         const Terminal& terminal);

}  // namespace weft::cli
