// SPDX-License-Identifier: Apache-2.0
// A checksum of the values of a JSON document. If a document is only formatted in another way, its
// checksum stays the same.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "weft/base/json/document.h"

namespace weft {

/// Returns the checksum as 16 hexadecimal digits. Documents with equal values have the same
/// checksum: white space, the order of members and the spelling of numbers do not change it. A
/// member whose name is in `left_out` is ignored, at any depth.
std::string json_checksum(const JsonValue& value, std::span<const std::string_view> left_out);

}  // namespace weft
