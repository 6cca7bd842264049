// SPDX-License-Identifier: Apache-2.0
// Prime factors of meshes. The position of a device in a mesh is a number in mixed radix; all axes
// and sub-axes of both ends of a problem are divided into digits with prime radix, which are called
// factors. Then types over meshes with other axes can be compared, and a search can move one factor
// at a time.
#pragma once

#include <optional>
#include <vector>

#include "weft/reshard/layout/problem.h"
#include "weft/reshard/layout/short_list.h"
#include "weft/reshard/search/factor_list.h"

namespace weft::reshard {

/// The factors of both meshes. If the meshes have different devices or digits, each has a side of
/// its own: side 0 is the mesh of the source, side 1 that of the target. A type uses factors of
/// only one side. A factor that is in both meshes has one number.
struct Factors {
  std::vector<std::int32_t> radix;  ///< by factor: a prime
  /// By factor, then device: the value of this digit; Layout::kAbsent if the device is not in the
  /// mesh.
  std::vector<std::vector<std::int32_t>> digit;
  FactorList sides[2];      ///< factors of the source's mesh and of the target's mesh
  bool same_sides = false;  ///< both sides have the same factors and devices
  /// Factors within nodes: devices that differ only in these are on one node. Empty if nodes do not
  /// matter.
  FactorList intra_node;
};

/// How the factors of a dimension cut it.
enum class Frame : std::uint8_t {
  kPlain,   ///< into equal parts; the number that the digits spell is the index of the part
  kTarget,  ///< as the target does, with the parts joined that differ only in factors not listed
  kSource,  ///< the same with the source
};

/// A sharding in terms of factors: which factors cut each dimension, most significant first, and
/// which hold summands. Along all other factors of the side, devices hold copies.
///
/// A dimension in the frame of an end may be cut by any subset of the factors with which that end
/// cuts it, not only by the most significant ones. Its parts are then strided. This lets a search
/// move digits one at a time in any order: from [x,y | -] to [- | x,y] it can move y first,
/// although x is more significant at the target. After that move, a device holds column blocks 0
/// and 2, or 1 and 3.
struct Type {
  std::uint8_t side = 0;  ///< see Factors
  ShortList<FactorList, 4> dims;
  ShortList<Frame, 8> frames;  ///< one per dimension
  FactorList partial;

  bool operator==(const Type&) const = default;
};

/// The factors of the type's side that the type does not use: along these, devices hold copies.
FactorList unused(const Factors& factors, const Type& type);

/// The product of the radices of a list, from index `first` on: the number of parts they cut into.
std::int64_t divisor(const Factors& factors, const FactorList& list, std::size_t first = 0);

/// The factors of `list` that are also in `others`, in the order of `list`.
FactorList common(const FactorList& list, const FactorList& others);

/// The types of both ends of a problem, over the same factors.
struct FactoredProblem {
  Factors factors;
  Type from, to;
};

/// nullopt if an end does not come from a mesh, or if the boundaries of axes and sub-axes of a mesh
/// do not divide each other.
std::optional<FactoredProblem> factor(const Problem& problem);

}  // namespace weft::reshard
