// SPDX-License-Identifier: Apache-2.0
// Makes help texts from the list of verbs.
#pragma once

#include <string>
#include <vector>

#include "cli/subcommand.h"

namespace weft::cli {

inline constexpr const char* kProgramDescription =
    "shows where distributed training loses time, and how to make it faster";

/// The form of a flag in help and man pages: "--run N", "-q, --quiet".
std::string spelled(const Flag& flag);
/// The usage of a verb: "weft replay INPUT... [FLAG]...". A verb that has sub-verbs gets a second
/// line, which shows how to call them.
std::vector<std::string> usage_lines(const Subcommand& command);

/// The verb or sub-verb that `inputs` name, as in `weft help pipeline compare`. `inputs` has one or
/// two words, and the first one must be the name of a verb. Failure is ErrorCode::kUsage.
Result<const Subcommand*> command_named(const std::vector<Subcommand>& commands,
                                        const std::vector<std::string>& inputs);

/// The lines of Subcommand::details. The lines of a paragraph are joined into one element. A line
/// that starts with a blank is an element of its own, and must be printed unchanged. An empty line
/// stays an empty element.
std::vector<std::string> paragraphs(const Subcommand& command);

/// The help of a verb: what it does, two examples to copy, usage, details, sub-verbs, then flags.
std::string verb_help(const Subcommand& command, const Terminal& terminal);
/// All verbs with their one-line descriptions.
std::string overview(const std::vector<Subcommand>& commands, const Terminal& terminal);

}  // namespace weft::cli
