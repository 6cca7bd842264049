// SPDX-License-Identifier: Apache-2.0
// What was assumed, repaired or left out: one line each under the result, for stderr.
#pragma once

#include <string>

#include "cli/shell/terminal.h"
#include "weft/base/diagnostics.h"

namespace weft::cli {

class Notes {
 public:
  /// Keeps a reference.
  explicit Notes(const Terminal& terminal) : terminal_(terminal) {}

  void add(Tone tone, const std::string& text);
  void add(const Diagnostics& diagnostics);
  /// Under a title; empty without notes.
  std::string text() const;

 private:
  const Terminal& terminal_;
  std::string lines_;
};

}  // namespace weft::cli
