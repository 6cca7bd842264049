// SPDX-License-Identifier: Apache-2.0
// Collects the notes that verbs print to stderr below their result. A note says what was assumed,
// repaired or left out.
#pragma once

#include <string>

#include "cli/shell/terminal.h"
#include "weft/base/diagnostics.h"

namespace weft::cli {

class Notes {
 public:
  /// Keeps a reference to `terminal`, which must outlive this object.
  explicit Notes(const Terminal& terminal) : terminal_(terminal) {}

  void add(Tone tone, const std::string& text);
  /// Adds one note per diagnostic. On a terminal, harmless diagnostics share a single note.
  void add(const Diagnostics& diagnostics);
  /// All notes, below a title. Empty if there are no notes.
  std::string text() const;

 private:
  const Terminal& terminal_;
  std::string lines_;
};

}  // namespace weft::cli
