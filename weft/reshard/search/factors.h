// SPDX-License-Identifier: Apache-2.0
// Divides meshes into prime factors. The position of a device in a mesh is a number in mixed radix.
// All axes and sub-axes of source and target are divided into digits whose radix is prime. These
// digits are called factors. With factors, types over meshes with different axes can be compared,
// and a search can move one factor at a time.
#pragma once

#include <optional>
#include <vector>

#include "weft/reshard/layout/problem.h"
#include "weft/reshard/layout/short_list.h"
#include "weft/reshard/search/factor_list.h"

namespace weft::reshard {

/// The factors of the meshes of source and target. If the two meshes have different devices or
/// digits, their factors form two sides: side 0 is the mesh of the source, side 1 the mesh of the
/// target. A type uses factors of only one side. A factor that is in both meshes has the same
/// number in both.
struct Factors {
  std::vector<std::int32_t> radix;  ///< indexed by factor: a prime
  /// Indexed by factor, then device: the value of this digit; Layout::kAbsent if the device is not
  /// in the mesh.
  std::vector<std::vector<std::int32_t>> digit;
  FactorList sides[2];      ///< factors of the source's mesh and of the target's mesh
  bool same_sides = false;  ///< both sides have the same factors and devices
  /// Factors within nodes: devices that differ only in the digits of these factors are on one node.
  /// Empty if nodes do not matter.
  FactorList intra_node;
};

/// How the factors of a dimension cut it.
enum class Frame : std::uint8_t {
  kPlain,   ///< into equal parts; the digits, read as a number, are the part's index
  kTarget,  ///< as the target cuts it; parts that differ only in factors not listed are joined
  kSource,  ///< as the source cuts it; parts that differ only in factors not listed are joined
};

/// A sharding in terms of factors: which factors cut each dimension, most significant first, and
/// which factors hold summands. Along all other factors of the side, devices hold copies.
///
/// A frame says which end of the problem determines the cuts of a dimension. In the frame of an
/// end, any subset of the end's factors may cut the dimension, not only its most significant
/// factors. The parts are then strided. This lets a search move digits one at a time in any order.
/// For example, from [x,y | -] to [- | x,y] it can move y first, although x is more significant at
/// the target. After that move, a device holds column blocks 0 and 2, or 1 and 3.
struct Type {
  std::uint8_t side = 0;  ///< see Factors
  ShortList<FactorList, 4> dims;
  ShortList<Frame, 8> frames;  ///< one per dimension
  FactorList partial;

  bool operator==(const Type&) const = default;
};

/// The factors of the type's side that the type does not use: along these, devices hold copies.
FactorList unused(const Factors& factors, const Type& type);

/// The product of the radices of `list`, from index `first` on. This is the number of parts into
/// which these factors cut a dimension.
std::int64_t divisor(const Factors& factors, const FactorList& list, std::size_t first = 0);

/// The factors of `list` that are also in `others`, in the order of `list`.
FactorList common(const FactorList& list, const FactorList& others);

/// The types of the two ends of a problem, over the same factors.
struct FactoredProblem {
  Factors factors;
  Type from, to;
};

/// Writes both ends of a problem in terms of factors. Returns nullopt if an end was not given over
/// a mesh, or if the boundaries of axes and sub-axes of a mesh do not divide each other.
std::optional<FactoredProblem> factor(const Problem& problem);

}  // namespace weft::reshard
