// SPDX-License-Identifier: Apache-2.0
// Maps strings to small dense ids and back. Kernel names repeat thousands of times in a trace, so
// events keep ids instead of strings.
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

  /// The id of `text`; adds `text` if it is new. Ids count from 0 in order of first use; 0 is "".
  NameId intern(std::string_view text);
  /// The id of `text`, or `missing` if it was never interned.
  NameId find(std::string_view text, NameId missing) const;
  /// Valid until the interner is destroyed or moved from.
  std::string_view text(NameId id) const;
  std::size_t size() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace weft
