// SPDX-License-Identifier: Apache-2.0
// UTF-8: checks whether a character is well formed, and writes characters.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weft {

constexpr std::uint32_t kReplacementCharacter = 0xfffd;

/// Returns the length (1..4) in bytes of the character at the start of `text`, or 0 if this
/// character is not well formed. Overlong forms, surrogates, values above U+10FFFF and incomplete
/// sequences are not well formed. `text` must not be empty.
std::size_t utf8_length(std::string_view text);

void append_utf8(std::string& out, std::uint32_t code_point);

/// Returns the text with each control character replaced by a blank, so that it fits into one line
/// of a terminal or page.
std::string printable(std::string text);

}  // namespace weft
