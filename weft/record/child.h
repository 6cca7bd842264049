// SPDX-License-Identifier: Apache-2.0
// Runs a command as a child process in the foreground, like a shell.
#pragma once

#include <string>
#include <vector>

#include "weft/base/result.h"

namespace weft::record {

/// Runs the command with our standard streams and waits for its end. `environment` holds entries
/// "NAME=value". While the command runs, signals sent to this process are passed on to it. (Signals
/// from the terminal, such as Ctrl-C, reach the command without this.) Returns the exit status of
/// the command, or 128 + N if signal N ended it. Returns an Error if the command could not be
/// started.
Result<int> run_child(const std::vector<std::string>& command,
                      const std::vector<std::string>& environment);

}  // namespace weft::record
