// SPDX-License-Identifier: Apache-2.0
// Builds the layout of a type: what each device holds, for every type that a search visits.
#pragma once

#include <string>
#include <unordered_map>

#include "weft/reshard/plan.h"
#include "weft/reshard/search/factors.h"
#include "weft/reshard/search/type_numbers.h"

namespace weft::reshard {

/// Remembers the layout of each type, and the cut of each dimension by each list of factors, since
/// most types share their cuts with others.
///
/// The types of both ends have exactly the layouts of the problem. Intermediate types must fit to
/// them even if a dimension does not divide evenly, so their parts use the edges of the ends:
///   * a list of factors that is a prefix of an end's list joins parts of that end;
///   * a list of which an end's list is a prefix divides the parts of that end.
/// So gathering or slicing moves nothing that would not move if everything were divisible.
class TypeLayouts {
 public:
  /// All arguments must outlive this object. `others` is for the same factors with other ends;
  /// equal cuts are taken from it, so that an OverlapCache knows them already.
  TypeLayouts(const Problem& problem, const FactoredProblem& factored,
              TypeLayouts* others = nullptr);

  /// Whether types determine layouts. False if a dimension has the same factors at both ends and is
  /// cut differently nevertheless: nested split rules cut by x of size 4 other than by its two
  /// sub-axes of size 2.
  bool consistent() const;

  /// Whether all layouts of types of that side have Layout::node_grid.
  bool node_grid(std::uint8_t side) const { return node_grid_[side]; }

  LayoutPtr layout(const Type& type) { return layout(numbers_.of(type)); }
  LayoutPtr layout(TypeNumber number);
  TypeNumbers& numbers() { return numbers_; }
  /// The parts of the type, flattened and divided as evenly as possible among the devices that
  /// differ in the factors `over`, which the type must not use. The parts of this layout are
  /// several boxes. Null if parts of the type are strided.
  LayoutPtr flattened(const Type& type, const FactorList& over);
  /// The range that a device holds there of a part with `elements` elements.
  Interval flat_range_of(std::int64_t elements, const FactorList& over, Device device) const;

 private:
  struct End {
    const Layout* layout;
    const Type* type;
  };
  using CutPtr = std::shared_ptr<const Cut>;
  CutPtr cut(const Type& type, std::size_t dim);
  CutPtr make_cut(const Type& type, std::size_t dim);
  /// Whether the size of the dimension is divisible by all factors together. Then cuts do not
  /// depend on the ends.
  bool divides(const Type& type, std::size_t dim) const;
  /// The end whose parts this type joins; null if there is none.
  const End* frame_of(const Type& type, std::size_t dim) const;
  /// The layout of an end of that side, which says which devices have a part.
  const Layout& present_on(std::uint8_t side) const;
  /// What is divided into `count` equal parts: each piece of an end, or the dimension if `of` is
  /// null.
  struct Share {
    const Cut* of;
    std::int64_t count;
  };
  Share share_of(const Type& type, std::size_t dim) const;
  /// Fills each slot of `made` with the union of the pieces that its devices hold in `end`.
  static void join(const Cut& end, Cut& made);
  /// By device: the number that its digits of the factors `partial` spell.
  std::vector<std::int32_t> groups(const Type& type, const FactorList& partial) const;
  /// Whether the devices of each node are exactly those that differ only in factors within nodes.
  bool nodes_are_grids(std::uint8_t side) const;

  const Problem& problem_;
  const Factors& factors_;
  TypeLayouts* others_;
  End ends_[2];        ///< target first: if both ends could give the edges, those of the target win
  bool node_grid_[2];  ///< by side
  LayoutPtr make(const Type& type);
  TypeNumbers numbers_;
  std::vector<LayoutPtr> layouts_;                   ///< by type number; null: not built yet
  std::vector<std::int32_t> index_, slot_of_index_;  ///< scratch memory of make_cut()
  /// By dimension, then by side, frame and factors of the type.
  std::vector<std::unordered_map<std::string, CutPtr>> cuts_;
};

}  // namespace weft::reshard
