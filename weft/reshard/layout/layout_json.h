// SPDX-License-Identifier: Apache-2.0
// Layouts as JSON: see docs/formats/plan.md.
#pragma once

#include "weft/base/json/document.h"
#include "weft/base/json/writer.h"
#include "weft/reshard/layout/layout.h"

namespace weft::reshard {

void write_layout(JsonWriter& json, const Layout& layout);

/// Of an array of `shape` on so many devices. An Error (kBadInput) where anything does not fit
/// together: what is returned may be given to any function.
Result<Layout> parse_layout(const JsonValue& value, const Shape& shape, Device devices);

/// Numbers from `low` to `high`, both included; an Error where there is something else.
Result<std::vector<std::int64_t>> parse_numbers(const JsonValue* value, const char* what,
                                                std::int64_t low, std::int64_t high);

}  // namespace weft::reshard
