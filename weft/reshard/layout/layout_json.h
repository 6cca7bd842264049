// SPDX-License-Identifier: Apache-2.0
// Writes and reads layouts as JSON, in the form of plan files: see docs/formats/plan.md.
#pragma once

#include "weft/base/json/document.h"
#include "weft/base/json/writer.h"
#include "weft/reshard/layout/layout.h"

namespace weft::reshard {

void write_layout(JsonWriter& json, const Layout& layout);

/// Reads the layout of an array of `shape` on `devices` devices. Returns an Error (kBadInput) if
/// fields are missing or contradict each other. A layout that it returns is consistent, so any
/// function can work on it.
Result<Layout> parse_layout(const JsonValue& value, const Shape& shape, Device devices);

/// Reads a list of whole numbers from `low` to `high`, both included. `what` is the name of the
/// field in error messages. Returns an Error (kBadInput) if `value` is missing or is not such a
/// list.
Result<std::vector<std::int64_t>> parse_numbers(const JsonValue* value, const char* what,
                                                std::int64_t low, std::int64_t high);

}  // namespace weft::reshard
