// SPDX-License-Identifier: Apache-2.0
// Writes the files that flags such as -o name.
#pragma once

#include <string>

#include "cli/subcommand.h"

namespace weft::cli {

/// Writes `content` to `path`. If `path` is "-", the verb writes `content` to stdout when it is
/// done, and its page goes to stderr. Only one file of a verb can go to stdout; a second one is an
/// Error (kUsage).
Status write_output(Console& console, const std::string& path, std::string content);

}  // namespace weft::cli
