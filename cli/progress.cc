// SPDX-License-Identifier: Apache-2.0
#include "cli/progress.h"

#include <cstdio>
#include <string>

namespace weft::cli {
namespace {

constexpr std::chrono::milliseconds kInterval{100};
constexpr const char* kEraseLine = "\r\033[K";

void write(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

}  // namespace

void Progress::show(std::string_view text) {
  if (!terminal_.is_terminal) return;
  const std::scoped_lock lock(mutex_);
  const auto now = Clock::now();
  if (drawn_ && now - last_ < kInterval) return;
  // A line as wide as the terminal would wrap in some of them, and could not be erased.
  const auto width = static_cast<std::size_t>(terminal_.columns - 1);
  write(kEraseLine + elide(text, width));
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
