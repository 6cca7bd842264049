// SPDX-License-Identifier: Apache-2.0
// Runs another program to its end and reads its output line by line.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/result.h"

namespace weft {

/// Callbacks of run_child().
struct ChildWatch {
  /// Called with each line that the program writes, without its line end. `error`: on stderr.
  std::function<void(std::string_view line, bool error)> line;
  /// Called about ten times a second. If it returns true, the program gets SIGTERM, and SIGKILL if
  /// it has not ended within `patience`.
  std::function<bool()> stop;
  std::chrono::milliseconds patience{5000};
};

/// Runs the program words[0] (looked up in PATH) with the arguments `words`, with empty standard
/// input, and in a process group of its own. When it ends, all processes that are left in that
/// group are killed. Returns its exit status, or 128 + N if signal N ended it. A program that
/// cannot be started is an Error (kUnavailable).
Result<int> run_child(const std::vector<std::string>& words, const ChildWatch& watch);

}  // namespace weft
