// SPDX-License-Identifier: Apache-2.0
// Reads JSON lines: one JSON object per line. A damaged line is dropped; the lines after it are
// read.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "weft/base/diagnostics.h"
#include "weft/base/json/scanner.h"
#include "weft/base/units.h"
#include "weft/trace/reader.h"

namespace weft::trace::nccl {

/// Calls `record` once per object, after the scanner has entered the object; `record` must read the
/// whole object. The texts that it reads are valid until it returns. Repairs and damage become
/// diagnostics. Returns an Error if the source cannot be read or if the progress callback cancels.
Status read_lines(JsonScanner& scanner, const ByteSource& source, const ReadOptions& options,
                  Diagnostics& diagnostics, const std::function<void()>& record);

/// Calls `member` for each key of the object that comes next; `member` must consume the value.
/// Skips any other kind of value.
void read_members(JsonScanner& scanner, const std::function<void(std::string_view key)>& member);

/// Reads microseconds with decimals as nanoseconds. -1 if the value is not a time, or is so large
/// that sums of times could overflow.
Nanos read_micros(JsonScanner& scanner);
/// Reads a number; -1 if the value is negative or not a number.
std::int64_t read_count(JsonScanner& scanner);

}  // namespace weft::trace::nccl
