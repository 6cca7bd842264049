// SPDX-License-Identifier: Apache-2.0
// A checksum of the values of a JSON document. It does not change if the document is only
// reformatted.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "weft/base/json/document.h"

namespace weft {

/// 16 hexadecimal digits. Documents with equal values have the same checksum: white space, the
/// order of members and the spelling of numbers do not matter. Members with a name in `left_out`,
/// at any depth, do not count.
std::string json_checksum(const JsonValue& value, std::span<const std::string_view> left_out);

}  // namespace weft
