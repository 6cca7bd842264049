// SPDX-License-Identifier: Apache-2.0
// Distributed types as people write them: an array over a mesh with named axes. Each dimension
// names the axes that cut it, most significant first; an axis that is not named anywhere means
// equal copies along it; partial axes hold summands.
//
// The base-offset map of the theory (device to start index of each dimension) follows from digits:
// a device's position in the mesh, row-major, is a number in mixed radix, and each axis or sub-axis
// is a run of its digits.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weft/base/result.h"
#include "weft/reshard/layout/layout.h"
#include "weft/reshard/layout/split.h"

namespace weft::reshard {

/// A run of digits of a position: a whole axis, or a sub-axis "x:(2)4".
struct Axis {
  std::string name;         ///< as it was written
  std::int64_t stride = 1;  ///< product of what is less significant
  std::int64_t radix = 1;   ///< its size
  std::int64_t digit(std::int64_t position) const { return position / stride % radix; }
};

struct Mesh {
  static constexpr std::int64_t kMostDevices = 1 << 20;

  std::vector<Axis> axes;             ///< most significant first
  std::vector<std::int64_t> devices;  ///< the user's number of the device at each position

  std::int64_t size() const { return static_cast<std::int64_t>(devices.size()); }
  /// "x" or "x:(2)4": the sub-axis of x of size 4 that has 2 as the product of what is more
  /// significant in x.
  Result<Axis> axis(std::string_view text) const;
};

/// Sizes by name, most significant first; `devices` in row-major order, or empty for 0, 1, 2, ...
Result<Mesh> make_mesh(const std::vector<std::pair<std::string, std::int64_t>>& sizes,
                       std::vector<std::int64_t> devices);

struct Sharding {
  Mesh mesh;
  std::vector<std::vector<Axis>> dims;
  std::vector<Axis> partial;
};

/// An Error where two of the axes used share digits, or the number of dimensions is another.
Status check_sharding(const Sharding& sharding, std::size_t dims);

/// `devices`: the dense number of each device of the mesh, by position; `universe`: how many
/// devices the problem has.
Layout layout_of(const Shape& shape, const Sharding& sharding, SplitRule rule,
                 const std::vector<Device>& devices, Device universe);

/// An Error where sizes are negative or there are more elements than any memory holds.
Status check_shape(const Shape& shape);

/// "x+y,-": one entry a dimension.
std::string text_of(const Sharding& sharding);

}  // namespace weft::reshard
