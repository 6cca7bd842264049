// SPDX-License-Identifier: Apache-2.0
// Tells the user what a reader's JSON scanner had to repair.
#pragma once

#include <string>

#include "weft/base/diagnostics.h"
#include "weft/base/json_scanner.h"

namespace weft::trace {

/// One diagnostic for each kind of repair, and one if the text was cut (by itself, or because its
/// gzip wrapper was).
void report_repairs(const JsonScanner& scanner, const ByteSource& source, Diagnostics& diagnostics);

}  // namespace weft::trace
