// SPDX-License-Identifier: Apache-2.0
// Gives each different string a small number (id), counted from 0, and finds the string of an id.
// Kernel names repeat thousands of times in a trace, so events store ids instead of strings.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace weft {

using NameId = std::uint32_t;

class Interner {
 public:
  Interner();
  ~Interner();
  Interner(Interner&&) noexcept;
  Interner& operator=(Interner&&) noexcept;
  Interner(const Interner&);
  Interner& operator=(const Interner&);

  /// Returns the id of `text`. If `text` is new, adds it with the next free id. Id 0 always belongs
  /// to the empty string.
  NameId intern(std::string_view text);
  /// Returns the id of `text`, or `missing` if the text was never interned.
  NameId find(std::string_view text, NameId missing) const;
  /// Returns the text with this id. The view is valid until the interner is destroyed or moved
  /// from.
  std::string_view text(NameId id) const;
  std::size_t size() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace weft
