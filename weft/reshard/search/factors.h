// SPDX-License-Identifier: Apache-2.0
// Prime factors of meshes: positions of devices as numbers in mixed radix with prime digits. Axes
// and sub-axes of both ends of a problem become runs of such digits, so that types over different
// meshes can be compared and mixed.
#pragma once

#include <optional>
#include <vector>

#include "weft/reshard/layout/problem.h"
#include "weft/reshard/layout/short_list.h"
#include "weft/reshard/search/factor_list.h"

namespace weft::reshard {

/// Meshes that do not share all their digits have a side each. A type uses factors of one side.
struct Factors {
  std::vector<std::int32_t> radix;               ///< primes
  std::vector<std::vector<std::int32_t>> digit;  ///< by factor, then device; kAbsent: not there
  FactorList sides[2];                           ///< of the source's mesh, of the target's
  bool same_sides = false;
  FactorList intra_node;  ///< devices that differ in none but these are of one node; empty without nodes
};

/// How the factors of a dimension cut it.
enum class Frame : std::uint8_t {
  kPlain,   ///< into equal parts, by the number that the digits spell
  kTarget,  ///< as the target does, with all parts joined that differ in the digits not in the list
  kSource,  ///< likewise as the source does
};

/// A distributed type in factors: which of them cut each dimension, most significant first, and
/// which hold summands. Factors that are in neither mean equal copies.
///
/// A dimension in the frame of an end is cut by any of that end's factors, not only by its first
/// ones, which gives strided parts. They are what lets digits be moved one after the other in any
/// order: from [x,y | -] to [- | x,y], y can go first, and column blocks 0 and 2 with it.
struct Type {
  std::uint8_t side = 0;
  ShortList<FactorList, 4> dims;
  ShortList<Frame, 8> frames;  ///< one a dimension
  FactorList partial;

  bool operator==(const Type&) const = default;
};

/// Factors that the type does not use, of its side.
FactorList unused(const Factors& factors, const Type& type);

/// Into how many parts the factors of a list cut, from the first given on.
std::int64_t divisor(const Factors& factors, const FactorList& list, std::size_t first = 0);

/// Those of `list` that `others` has, too.
FactorList common(const FactorList& list, const FactorList& others);

/// Both ends of a problem in common factors.
struct FactoredProblem {
  Factors factors;
  Type from, to;
};

/// nullopt for layouts that do not come from meshes.
std::optional<FactoredProblem> factor(const Problem& problem);

}  // namespace weft::reshard
