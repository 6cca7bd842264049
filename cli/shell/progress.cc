// SPDX-License-Identifier: Apache-2.0
#include "cli/shell/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "cli/shell/format.h"

namespace weft::cli {
namespace {

constexpr std::chrono::milliseconds kInterval{100};
/// Before this time has passed, the rate is too unstable to predict the time left.
constexpr std::chrono::milliseconds kTooEarlyToTell{250};

void write(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

}  // namespace

std::string transfer_line(std::string_view what, Bytes done, Bytes total,
                          std::chrono::duration<double> passed) {
  const double rate = static_cast<double>(done) / std::max(passed.count(), 1e-3);
  std::string text = fmt::format("{} {}", what, format_bytes(done));
  if (total > 0) text += " of " + format_bytes(total);
  text += fmt::format(", {}/s", format_bytes(static_cast<Bytes>(rate)));
  if (total > done && done > 0 && passed >= kTooEarlyToTell) {
    const double left = std::ceil(static_cast<double>(total - done) / rate);
    text += left < 100 ? fmt::format(", {:.0f} s left", left)
                       : fmt::format(", {:.0f} min left", std::ceil(left / 60));
  }
  return text;
}

void Progress::show(std::string_view text) {
  if (!terminal_.is_terminal) return;
  const std::scoped_lock lock(mutex_);
  const auto now = Clock::now();
  // Readers call this function for every block. Redrawing each time would take longer than reading.
  if (drawn_ && now - last_ < kInterval) return;
  // Some terminals wrap a line that is exactly as wide as the terminal. Such a line could not be
  // erased, so leave one column free.
  const auto width = static_cast<std::size_t>(terminal_.columns - 1);
  write(std::string(kEraseLine) + elide(text, width));
  drawn_ = true;
  last_ = now;
}

void Progress::clear() {
  const std::scoped_lock lock(mutex_);
  if (!drawn_) return;
  write(kEraseLine);
  drawn_ = false;
}

}  // namespace weft::cli
