// SPDX-License-Identifier: Apache-2.0
// Decodes the text between the quotes of a JSON string. This never fails: invalid parts are
// counted, and replaced or kept in a readable form.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weft {

struct JsonUnescaped {
  std::string text;
  std::int64_t bad_utf8 = 0;       ///< bytes replaced by U+FFFD
  std::int64_t bad_escapes = 0;    ///< "\q" stays as it is; half surrogates become U+FFFD
  std::size_t first_bad_utf8 = 0;  ///< index of the first bad byte in the raw text
  std::size_t first_bad_escape = 0;
};

JsonUnescaped unescape_json(std::string_view raw);

}  // namespace weft
