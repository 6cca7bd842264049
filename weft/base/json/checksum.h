// SPDX-License-Identifier: Apache-2.0
// Tells whether a JSON document still says what it said, however it was formatted since.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "weft/base/json/document.h"

namespace weft {

/// 16 hexadecimal digits, the same for documents of equal values: white space, the order of members
/// and how numbers are written do not count. Members of these names, at any depth, are left out.
std::string json_checksum(const JsonValue& value, std::span<const std::string_view> left_out);

}  // namespace weft
