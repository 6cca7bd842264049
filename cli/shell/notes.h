// SPDX-License-Identifier: Apache-2.0
// The notes that verbs print to stderr below their result: what was assumed, repaired or left out,
// one line each.
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
  /// One note per diagnostic. On a terminal, harmless ones share a single line.
  void add(const Diagnostics& diagnostics);
  /// All notes below a title; empty if there are none.
  std::string text() const;

 private:
  const Terminal& terminal_;
  std::string lines_;
};

}  // namespace weft::cli
