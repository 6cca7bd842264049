// SPDX-License-Identifier: Apache-2.0
// A line on stderr that shows progress and is redrawn in place. Nothing is printed if stderr is not
// a terminal, so that logs and pipes stay clean.
#pragma once

#include <chrono>
#include <mutex>
#include <string>
#include <string_view>

#include "cli/shell/terminal.h"
#include "weft/base/units.h"

namespace weft::cli {

/// Erases the line of the cursor.
inline constexpr std::string_view kEraseLine = "\r\033[K";

/// "reading 120 MB of 480 MB, 200 MB/s, 2 s left". If `total` is 0 (unknown), or if it is too early
/// to estimate the time left, these parts are missing.
std::string transfer_line(std::string_view what, Bytes done, Bytes total,
                          std::chrono::duration<double> passed);

class Progress {
 public:
  explicit Progress(const Terminal& stderr_terminal) : terminal_(stderr_terminal) {}
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Replaces the line, at most ten times per second. May be called from any thread.
  void show(std::string_view text);
  /// Erases the line. Call it before anything else is written to stderr.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  Terminal terminal_;
  std::mutex mutex_;
  bool drawn_ = false;
  Clock::time_point last_{};
};

}  // namespace weft::cli
