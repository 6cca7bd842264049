// SPDX-License-Identifier: Apache-2.0
// Tells the user what a reader's JSON scanner had to repair.
#pragma once

#include <cstdint>
#include <string>

#include "weft/base/diagnostics.h"
#include "weft/base/json/scanner.h"

namespace weft::trace {

/// Whether a text that ends too early has lost something, or its writer never closes it.
enum class OpenEnd : std::uint8_t { kLoss, kUsual };

/// One diagnostic for each kind of repair, and one if the text was cut (by itself, or because its
/// gzip wrapper was) where that is a loss.
void report_repairs(const JsonScanner& scanner, const ByteSource& source, Diagnostics& diagnostics,
                    OpenEnd open_end = OpenEnd::kLoss);

}  // namespace weft::trace
