// SPDX-License-Identifier: Apache-2.0
#include "cli/notes.h"

#include <fmt/format.h>

#include "cli/format.h"

namespace weft::cli {

void Notes::add(Tone tone, const std::string& text) {
  for (const std::string& line :
       wrap("- " + text, static_cast<std::size_t>(terminal_.columns), 2)) {
    lines_ += paint(terminal_, tone, line) + "\n";
  }
}

void Notes::add(const Diagnostics& diagnostics) {
  for (const Diagnostic& diagnostic : diagnostics.all()) {
    const DiagnosticKind& kind = *diagnostic.kind;
    const Tone tone = kind.severity == Severity::kDataLoss  ? Tone::kBad
                      : kind.severity == Severity::kWarning ? Tone::kWarning
                                                            : Tone::kPlain;
    add(tone, fmt::format("{} ({}x): {}; {}", kind.id, diagnostic.count, kind.what, kind.advice));
  }
}

std::string Notes::text() const {
  return lines_.empty() ? "" : paint(terminal_, Tone::kBold, "notes") + "\n" + lines_;
}

}  // namespace weft::cli
