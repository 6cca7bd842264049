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
  /// The function is called with each line that the program writes, without the line end. `error`
  /// is true if the line came from stderr, and false if it came from stdout.
  std::function<void(std::string_view line, bool error)> line;
  /// The function is called about ten times a second. If it returns true, the program gets SIGTERM.
  /// If the program has not ended within `patience` after that, it gets SIGKILL.
  std::function<bool()> stop;
  std::chrono::milliseconds patience{5000};
};

/// Runs the program words[0], which is looked up in PATH. The other words are its arguments. Its
/// standard input is empty. It runs in a new process group. When it ends, all processes that are
/// left in this group are killed. Returns the exit status of the program, or 128 + N if signal N
/// ended it. Returns an Error (kUnavailable) if the program cannot be started.
Result<int> run_child(const std::vector<std::string>& words, const ChildWatch& watch);

}  // namespace weft
