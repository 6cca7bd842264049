// SPDX-License-Identifier: Apache-2.0
// Splits the bytes of a pipe into lines.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace weft {

class LineSplitter {
 public:
  using Take = std::function<void(std::string_view line)>;

  /// Adds bytes, and calls `take` with every line that is now complete, without its line end. A
  /// line of more than 1 MiB is passed on in pieces, so that memory stays bounded.
  void add(std::string_view bytes, const Take& take) {
    for (;;) {
      const std::size_t end = bytes.find('\n');
      pending_ += bytes.substr(0, end);
      if (end == std::string_view::npos) break;
      flush(take, true);
      bytes.remove_prefix(end + 1);
    }
    if (pending_.size() > kLongest) flush(take, true);
  }
  /// Call this at the end of the input: passes on the last line if it has no line end.
  void finish(const Take& take) { flush(take, false); }

 private:
  static constexpr std::size_t kLongest = 1u << 20;

  void flush(const Take& take, bool even_if_empty) {
    if (even_if_empty || !pending_.empty()) take(pending_);
    pending_.clear();
  }

  std::string pending_;
};

}  // namespace weft
