// SPDX-License-Identifier: Apache-2.0
#include "weft/report/timeline/base64.h"

#include <cstdint>

namespace weft::report {

std::string to_base64(std::string_view bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    std::uint32_t group = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      const bool there = at + i < bytes.size();
      group = group << 8 | (there ? static_cast<unsigned char>(bytes[at + i]) : 0u);
    }
    for (std::size_t i = 0; i < 4; ++i) {
      // The last group may have 1 or 2 bytes. n bytes need n + 1 digits; the rest is padding.
      const bool there = at + i <= bytes.size();
      text.push_back(there ? kDigits[group >> (18 - 6 * i) & 63] : '=');
    }
  }
  return text;
}

}  // namespace weft::report
