// SPDX-License-Identifier: Apache-2.0
// The least one must know about UTF-8: is the next character well formed, and how to write one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weft {

constexpr std::uint32_t kReplacementCharacter = 0xfffd;

/// Length (1..4) of the well-formed character at the start of `text`, or 0: overlong forms,
/// surrogates, values past U+10FFFF and cut sequences are not well formed. `text` is not empty.
std::size_t utf8_length(std::string_view text);

void append_utf8(std::string& out, std::uint32_t code_point);

/// For one line of a terminal or a page: control characters are blanks.
std::string printable(std::string text);

}  // namespace weft
