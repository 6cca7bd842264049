// SPDX-License-Identifier: Apache-2.0
// One line on stderr that is redrawn while something takes long. Silent where stderr is no
// terminal, so that logs and pipes stay clean.
#pragma once

#include <chrono>
#include <mutex>
#include <string_view>

#include "cli/terminal.h"

namespace weft::cli {

class Progress {
 public:
  explicit Progress(const Terminal& stderr_terminal) : terminal_(stderr_terminal) {}
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Replaces the line, at most ten times a second. May be called from any thread.
  void show(std::string_view text);
  /// Takes the line away; call it before anything else is written to stderr.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  Terminal terminal_;
  std::mutex mutex_;
  bool drawn_ = false;
  Clock::time_point last_{};
};

}  // namespace weft::cli
