// SPDX-License-Identifier: Apache-2.0
// Another program, run to its end with its output read line by line.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/result.h"

namespace weft {

struct ChildWatch {
  /// Each line it writes, without the end of the line; `error` where it came from stderr.
  std::function<void(std::string_view line, bool error)> line;
  /// Asked about ten times a second. True: the program is told to end (SIGTERM), and made to
  /// (SIGKILL) if it has not within `patience`.
  std::function<bool()> stop;
  std::chrono::milliseconds patience{5000};
};

/// Runs `words` (the first is looked up in PATH) with empty standard input and in a process group
/// of its own; whatever it leaves behind in that group ends with it. Returns its exit status, or
/// 128 + N if signal N ended it. A program that cannot be started is an Error (kUnavailable).
Result<int> run_child(const std::vector<std::string>& words, const ChildWatch& watch);

}  // namespace weft
