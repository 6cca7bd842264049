// SPDX-License-Identifier: Apache-2.0
// UTF-8: checks whether a character is well formed, and writes characters.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weft {

constexpr std::uint32_t kReplacementCharacter = 0xfffd;

/// The length (1..4) of the character at the start of `text`, or 0 if it is not well formed:
/// overlong forms, surrogates, values above U+10FFFF and incomplete sequences are not. `text` must
/// not be empty.
std::size_t utf8_length(std::string_view text);

void append_utf8(std::string& out, std::uint32_t code_point);

/// The text with all control characters replaced by blanks, for one line of a terminal or a page.
std::string printable(std::string text);

}  // namespace weft
