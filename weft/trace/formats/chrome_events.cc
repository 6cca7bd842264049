// SPDX-License-Identifier: Apache-2.0
#include "weft/trace/formats/chrome_events.h"

#include <string>

namespace weft::trace {
namespace {

constexpr DiagnosticKind kDamaged{"damaged-json", Severity::kDataLoss,
                                  "the text stops being JSON; reading resumed at the next event",
                                  "copy the file again; unescaped quotes in names can also cause "
                                  "this"};

}  // namespace

void report_damage(const JsonScanner& scanner, const ByteSource& source, Diagnostics& diagnostics) {
  diagnostics.add(kDamaged, source.name() + ": byte " + std::to_string(scanner.offset()));
}

}  // namespace weft::trace
