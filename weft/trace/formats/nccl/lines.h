// SPDX-License-Identifier: Apache-2.0
// JSON lines: one object after the other. A damaged one costs itself, not those behind it.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "weft/base/diagnostics.h"
#include "weft/base/json/scanner.h"
#include "weft/base/units.h"
#include "weft/trace/reader.h"

namespace weft::trace::nccl {

/// Calls `record` inside of every object, past its '{'; it reads up to the '}'. Texts it is given
/// stay valid until it returns. Repairs and damage go to `diagnostics`.
Status read_lines(JsonScanner& scanner, const ByteSource& source, const ReadOptions& options,
                  Diagnostics& diagnostics, const std::function<void()>& record);

/// Calls `member` for each key of the object at hand; skips what is no object.
void read_members(JsonScanner& scanner, const std::function<void(std::string_view key)>& member);

/// Times that can be added and subtracted without care, else -1. Microseconds with decimals.
Nanos read_micros(JsonScanner& scanner);
/// A number that is not negative, or -1.
std::int64_t read_count(JsonScanner& scanner);

}  // namespace weft::trace::nccl
