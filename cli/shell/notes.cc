// SPDX-License-Identifier: Apache-2.0
#include "cli/shell/notes.h"

#include <fmt/format.h>

#include "cli/shell/format.h"

namespace weft::cli {

void Notes::add(Tone tone, const std::string& text) {
  for (const std::string& line :
       wrap("- " + text, static_cast<std::size_t>(terminal_.columns), 2)) {
    lines_ += paint(terminal_, tone, line) + "\n";
  }
}

void Notes::add(const Diagnostics& diagnostics) {
  std::string harmless;
  for (const Diagnostic& diagnostic : diagnostics.all()) {
    const DiagnosticKind& kind = *diagnostic.kind;
    // On a terminal, users look for what they have to fix, so harmless diagnostics are short. In a
    // log, every diagnostic has its full text.
    if (terminal_.is_terminal && kind.severity == Severity::kInfo) {
      harmless +=
          fmt::format("{}{} ({}x)", harmless.empty() ? "" : ", ", kind.id, diagnostic.count);
      continue;
    }
    const Tone tone = kind.severity == Severity::kDataLoss  ? Tone::kBad
                      : kind.severity == Severity::kWarning ? Tone::kWarning
                                                            : Tone::kPlain;
    add(tone, fmt::format("{} ({}x): {}; {}", kind.id, diagnostic.count, kind.what, kind.advice));
  }
  if (!harmless.empty()) add(Tone::kPlain, "harmless, nothing to do: " + harmless);
}

std::string Notes::text() const {
  return lines_.empty() ? "" : paint(terminal_, Tone::kBold, "notes") + "\n" + lines_;
}

}  // namespace weft::cli
