// SPDX-License-Identifier: Apache-2.0
// From argv to Arguments, and from a Subcommand to its help text.
#pragma once

#include <string>
#include <vector>

#include "cli/subcommand.h"

namespace weft::cli {

/// Parses what follows the verb. Failure is always ErrorCode::kUsage, with a suggestion where a
/// flag was mistyped.
Result<Arguments> parse_arguments(const Subcommand& command, const std::vector<std::string>& words);

/// Usage line, two examples to copy, then the flags.
std::string verb_help(const Subcommand& command, const Terminal& terminal);
/// All verbs with their one-line descriptions.
std::string overview(const std::vector<Subcommand>& commands, const Terminal& terminal);

}  // namespace weft::cli
