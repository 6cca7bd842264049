// SPDX-License-Identifier: Apache-2.0
// Shardings as users write them: an array over a mesh with named axes. Each dimension lists the
// axes that cut it, most significant first. Along an axis that no dimension lists, devices hold
// copies. Along a partial axis, devices hold summands.
//
// The part that a device holds follows from its position in the mesh. The position, counted in
// row-major order, is a number in mixed radix with one digit per axis. A sub-axis consists of some
// of the prime digits of an axis.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weft/base/result.h"
#include "weft/reshard/layout/layout.h"
#include "weft/reshard/layout/split.h"

namespace weft::reshard {

/// One digit of a position in the mesh: a whole axis, or a sub-axis such as "x:(2)4".
struct Axis {
  std::string name;         ///< as it was written
  std::int64_t stride = 1;  ///< product of the sizes of all less significant axes
  std::int64_t radix = 1;   ///< the size of the axis
  std::int64_t digit(std::int64_t position) const { return position / stride % radix; }
};

struct Mesh {
  static constexpr std::int64_t kMostDevices = 1 << 20;

  std::vector<Axis> axes;  ///< most significant first
  std::vector<std::int64_t>
      devices;  ///< indexed by position: the user's number of the device there

  std::int64_t size() const { return static_cast<std::int64_t>(devices.size()); }
  /// Returns the axis "x", or the sub-axis "x:(2)4". For that sub-axis, x is divided into 2 parts,
  /// and each of these into 4 parts; the sub-axis says which of the 4. Returns an Error (kBadInput)
  /// if the mesh has no such axis, or if the size of the axis cannot be divided in this way.
  Result<Axis> axis(std::string_view text) const;
};

/// Makes a mesh. `sizes` has the name and size of each axis, most significant first. `devices` are
/// in row-major order; empty stands for 0, 1, 2, ... Returns an Error (kBadInput) for duplicate
/// axes or devices, for a size below 1, and if the number of devices differs from the number of
/// positions.
Result<Mesh> make_mesh(const std::vector<std::pair<std::string, std::int64_t>>& sizes,
                       std::vector<std::int64_t> devices);

struct Sharding {
  Mesh mesh;
  std::vector<std::vector<Axis>> dims;  ///< axes that cut each dimension, most significant first
  std::vector<Axis> partial;            ///< axes along which devices hold summands
};

/// Returns an Error if two of the used axes overlap, or if the sharding has another number of
/// dimensions than `dims`.
Status check_sharding(const Sharding& sharding, std::size_t dims);

/// The layout of a sharding that passed check_sharding(). `devices[i]` is the Device at position i
/// of the mesh. `device_count` is the number of devices of the problem.
Layout layout_of(const Shape& shape, const Sharding& sharding, SplitRule rule,
                 const std::vector<Device>& devices, Device device_count);

/// An Error if a size is negative or if there are more than 2^53 elements. The limit keeps products
/// of sizes and of small factors within 64 bits.
Status check_shape(const Shape& shape);

/// The dimensions as text, "x+y,-": one entry per dimension, "-" for one that is not cut.
std::string text_of(const Sharding& sharding);

}  // namespace weft::reshard
