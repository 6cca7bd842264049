// SPDX-License-Identifier: Apache-2.0
// What an array is made of, by the names that case files and frameworks use.
#pragma once

#include <string>
#include <string_view>

#include "weft/base/result.h"
#include "weft/base/units.h"

namespace weft::reshard {

/// Bytes of an element; 0: unknown.
Bytes item_size(std::string_view dtype);

/// Elements change their type on the way: where they are sent as the smaller of both, and as the
/// source has them while summands are still to be added up, so that sums are rounded once.
struct Cast {
  std::string from, to;
  Bytes from_size = 0, to_size = 0;

  Bytes on_the_way(bool summands) const {
    return summands || from_size < to_size ? from_size : to_size;
  }
};

/// An Error where a type is unknown, or a complex number would lose a part.
Result<Cast> make_cast(const std::string& from, const std::string& to);

/// An Error where numbers of that type cannot be reduced so: of two complex numbers none is the
/// smaller one.
Status check_reduction(std::string_view dtype, std::string_view reduction);

}  // namespace weft::reshard
