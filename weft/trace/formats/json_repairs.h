// SPDX-License-Identifier: Apache-2.0
// Turns the repairs that a reader's JSON scanner made into diagnostics for the user.
#pragma once

#include <cstdint>
#include <string>

#include "weft/base/diagnostics.h"
#include "weft/base/json/scanner.h"

namespace weft::trace {

/// What a missing end of the JSON text means for the format.
enum class OpenEnd : std::uint8_t {
  kLoss,   ///< data is missing: report it
  kUsual,  ///< the writer never closes the list of events: nothing is lost
};

/// Adds one diagnostic per kind of repair. Adds another one if the text or its gzip stream ends too
/// early and `open_end` says that this is a loss.
void report_repairs(const JsonScanner& scanner, const ByteSource& source, Diagnostics& diagnostics,
                    OpenEnd open_end = OpenEnd::kLoss);

}  // namespace weft::trace
