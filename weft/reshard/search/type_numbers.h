// SPDX-License-Identifier: Apache-2.0
// Gives each type a number: 0, 1, 2, ... A search visits the same types many times. It stores what
// it knows about each type in arrays indexed by this number.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/reshard/search/factors.h"

namespace weft::reshard {

using TypeNumber = std::int32_t;

class TypeNumbers {
 public:
  /// The number of a type. A type that is new gets the next number.
  TypeNumber of(const Type& type);
  /// The reference is valid until a new type is added.
  const Type& operator[](TypeNumber number) const { return types_[number]; }
  std::size_t size() const { return types_.size(); }

 private:
  void grow();

  std::vector<Type> types_;
  std::vector<std::uint64_t> hashes_;  ///< indexed by number
  std::vector<TypeNumber> table_;      ///< hash table with linear probing
};

}  // namespace weft::reshard
