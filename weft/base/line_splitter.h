// SPDX-License-Identifier: Apache-2.0
// Bytes of a pipe as lines.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace weft {

class LineSplitter {
 public:
  using Take = std::function<void(std::string_view line)>;

  /// Hands on every complete line, without its end; one that gets very long in pieces.
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
  /// What is left at the end.
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
