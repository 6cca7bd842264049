// SPDX-License-Identifier: Apache-2.0
// A command as a child process, as a shell would run it in the foreground.
#pragma once

#include <string>
#include <vector>

#include "weft/base/result.h"

namespace weft::record {

/// Runs it with our standard streams and waits for its end. `environment` holds "NAME=value". While
/// it runs, signals sent to us go to it; those that the terminal sent (Ctrl-C) it has already. The
/// result is its exit status, or 128 and the number of the signal that ended it. An Error if it
/// could not be started.
Result<int> run_child(const std::vector<std::string>& command,
                      const std::vector<std::string>& environment);

}  // namespace weft::record
