// SPDX-License-Identifier: Apache-2.0
// What stands between the quotes of a JSON string, as text. Never fails: what is wrong is replaced
// or kept readable, and counted.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weft {

struct JsonUnescaped {
  std::string text;
  std::int64_t bad_utf8 = 0;       ///< bytes replaced by U+FFFD
  std::int64_t bad_escapes = 0;    ///< "\q" is kept as it is, half surrogates become U+FFFD
  std::size_t first_bad_utf8 = 0;  ///< index into the raw text
  std::size_t first_bad_escape = 0;
};

JsonUnescaped unescape_json(std::string_view raw);

}  // namespace weft
