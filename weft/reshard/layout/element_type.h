// SPDX-License-Identifier: Apache-2.0
// Facts about the element types of arrays. Types are named as in case files and frameworks ("f32",
// "bfloat16").
#pragma once

#include <string>
#include <string_view>

#include "weft/base/result.h"
#include "weft/base/units.h"

namespace weft::reshard {

/// Bytes of an element; 0 if the type is unknown.
Bytes item_size(std::string_view dtype);

/// A change of the element type during redistribution. Elements are sent in the smaller of the two
/// types. Summands are an exception: they are sent in the type of the source, so that the sum is
/// rounded only once.
struct Cast {
  std::string from, to;
  Bytes from_size = 0, to_size = 0;

  /// Bytes of an element as it is sent.
  Bytes on_the_way(bool summands) const {
    return summands || from_size < to_size ? from_size : to_size;
  }
};

/// An Error if a type is unknown, or if the cast would drop the imaginary part of complex numbers.
Result<Cast> make_cast(const std::string& from, const std::string& to);

/// An Error if the reduction is undefined for the type: complex numbers have no min or max.
Status check_reduction(std::string_view dtype, std::string_view reduction);

}  // namespace weft::reshard
