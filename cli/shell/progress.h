// SPDX-License-Identifier: Apache-2.0
// One line on stderr that is redrawn while something takes long. Silent where stderr is no
// terminal, so that logs and pipes stay clean.
#pragma once

#include <chrono>
#include <mutex>
#include <string>
#include <string_view>

#include "cli/shell/terminal.h"
#include "weft/base/units.h"

namespace weft::cli {

/// Takes away what stands in the line of the cursor.
inline constexpr std::string_view kEraseLine = "\r\033[K";

/// "reading 120 MB of 480 MB, 200 MB/s, 2 s left"; without a known `total` (0) only what is known.
std::string transfer_line(std::string_view what, Bytes done, Bytes total,
                          std::chrono::duration<double> passed);

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
