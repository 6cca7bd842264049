// SPDX-License-Identifier: Apache-2.0
// Types as small numbers: a search meets the same ones over and over, and keeps what it knows of
// each in lists.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/reshard/search/factors.h"

namespace weft::reshard {

using TypeNumber = std::int32_t;

class TypeNumbers {
 public:
  /// New or known. They count up from 0.
  TypeNumber of(const Type& type);
  /// Valid until a new type comes.
  const Type& operator[](TypeNumber number) const { return types_[number]; }
  std::size_t size() const { return types_.size(); }

 private:
  void grow();

  std::vector<Type> types_;
  std::vector<std::uint64_t> hashes_;  ///< by number
  std::vector<TypeNumber> table_;      ///< by hash, the next free place where that is taken
};

}  // namespace weft::reshard
