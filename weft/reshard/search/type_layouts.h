// SPDX-License-Identifier: Apache-2.0
// Layouts of types: what each device holds, for every type that a search meets.
#pragma once

#include <string>
#include <unordered_map>

#include "weft/reshard/plan.h"
#include "weft/reshard/search/factors.h"
#include "weft/reshard/search/type_numbers.h"

namespace weft::reshard {

/// Remembers the cut of each dimension by each list of factors, which most types share.
///
/// The types of both ends have exactly the layouts of the problem. In between, where a dimension
/// does not divide, parts keep to the edges of the ends as far as they can: a list that one end
/// begins with joins parts of that end, and a list that begins with all of an end's divides its
/// parts. So gathering or slicing moves nothing that an even array would not move.
class TypeLayouts {
 public:
  /// All must outlive it. `others`: of the same factors with other ends; cuts that are the same are
  /// shared, and what is known of them.
  TypeLayouts(const Problem& problem, const FactoredProblem& factored,
              TypeLayouts* others = nullptr);

  /// False where the ends have types that are equal in factors and yet cut differently, as nested
  /// rules do with x of size 4 and its two halves: then types do not tell layouts.
  bool consistent() const;

  /// Whether parts of nodes are grids, see Layout, in all layouts of the types of that side.
  bool node_grid(std::uint8_t side) const { return node_grid_[side]; }

  LayoutPtr layout(const Type& type) { return layout(numbers_.of(type)); }
  LayoutPtr layout(TypeNumber number);
  TypeNumbers& numbers() { return numbers_; }
  /// The parts of the type, flattened and divided by `over`, which the type does not use, as evenly
  /// as elements can be; what they are no longer is boxes of a mesh. Null where parts are strided.
  LayoutPtr flattened(const Type& type, const FactorList& over);
  /// Of `elements` in a row, those that a device has there.
  Interval flat_range_of(std::int64_t elements, const FactorList& over, Device device) const;

 private:
  struct End {
    const Layout* layout;
    const Type* type;
  };
  using CutPtr = std::shared_ptr<const Cut>;
  CutPtr cut(const Type& type, std::size_t dim);
  CutPtr make_cut(const Type& type, std::size_t dim);
  /// Whether all factors together divide the dimension: then ends do not matter for its cuts.
  bool divides(const Type& type, std::size_t dim) const;
  /// The end whose parts are joined, or null.
  const End* frame_of(const Type& type, std::size_t dim) const;
  /// An end of that side: tells which devices there are.
  const Layout& present_on(std::uint8_t side) const;
  /// What is divided into `count` equal parts: the pieces of an end, or null for the whole.
  struct Share {
    const Cut* of;
    std::int64_t count;
  };
  Share share_of(const Type& type, std::size_t dim) const;
  /// Fills the slots of a cut with the pieces of an end that their devices have there.
  static void join(const Cut& end, Cut& made);
  std::vector<std::int32_t> groups(const Type& type, const FactorList& partial) const;
  /// Whether each node has all devices of a side that differ in factors within nodes alone, and no
  /// others.
  bool nodes_are_grids(std::uint8_t side) const;

  const Problem& problem_;
  const Factors& factors_;
  TypeLayouts* others_;
  End ends_[2];        ///< target first: what is on its way shall fit where it goes
  bool node_grid_[2];  ///< by side
  LayoutPtr make(const Type& type);
  TypeNumbers numbers_;
  std::vector<LayoutPtr> layouts_;                   ///< by number; null: not asked for yet
  std::vector<std::int32_t> index_, slot_of_index_;  ///< room for cut()
  /// By dimension, then by how the type cuts it.
  std::vector<std::unordered_map<std::string, CutPtr>> cuts_;
};

}  // namespace weft::reshard
