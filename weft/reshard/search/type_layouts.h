// SPDX-License-Identifier: Apache-2.0
// Builds the layout of a type: what each device holds, for every type that a search visits.
#pragma once

#include <string>
#include <unordered_map>

#include "weft/reshard/plan.h"
#include "weft/reshard/search/factors.h"
#include "weft/reshard/search/type_numbers.h"

namespace weft::reshard {

/// Builds each layout once and remembers it. Also remembers the cut of each dimension by each list
/// of factors, because most types share their cuts with other types.
///
/// The types of source and target have exactly the layouts of the problem. A layout between them
/// must fit both, even if a dimension does not divide evenly. So its pieces use the edges of the
/// source or of the target. For each dimension, a type lists the factors that cut it:
///   * If the type's list is a prefix of an end's list, the type joins pieces of that end.
///   * If an end's list is a prefix of the type's list, the type divides the pieces of that end.
/// So gathers and slices move no more data in an uneven dimension than in an even one.
class TypeLayouts {
 public:
  /// All arguments must outlive this object. `others` is a TypeLayouts with the same factors but
  /// with other ends. Cuts that are equal are taken from `others`. So an OverlapCache that knows
  /// these cuts can be used again.
  TypeLayouts(const Problem& problem, const FactoredProblem& factored,
              TypeLayouts* others = nullptr);

  /// Whether each type has one layout. False if a dimension has the same factors at both ends and
  /// is nevertheless cut differently. For example, nested split rules cut by x of size 4 in another
  /// way than by the two sub-axes of x of size 2.
  bool consistent() const;

  /// Whether Layout::node_grid is true in the layouts of all types of this side.
  bool node_grid(std::uint8_t side) const { return node_grid_[side]; }

  LayoutPtr layout(const Type& type) { return layout(numbers_.of(type)); }
  LayoutPtr layout(TypeNumber number);
  TypeNumbers& numbers() { return numbers_; }
  /// The parts of the type, flattened to one dimension. Each part is divided as evenly as possible
  /// among the devices that differ only in the factors `over`. The type must not use these factors.
  /// Each device then holds several boxes. Returns null if the parts of the type are strided.
  LayoutPtr flattened(const Type& type, const FactorList& over);
  /// In the layout of flattened(): the range that a device holds of a part with `elements`
  /// elements.
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
  /// The end (source or target) whose parts this type joins in the dimension; null if there is
  /// none.
  const End* frame_of(const Type& type, std::size_t dim) const;
  /// The layout of the source or of the target, whichever uses the mesh of this side. It says which
  /// devices have a part.
  const Layout& present_on(std::uint8_t side) const;
  /// Says what a cut divides into `count` equal parts: each piece of the cut `of`, or the whole
  /// dimension if `of` is null.
  struct Share {
    const Cut* of;
    std::int64_t count;
  };
  Share share_of(const Type& type, std::size_t dim) const;
  /// Fills each slot of `made` with the union of the pieces that the devices of this slot hold in
  /// `end`.
  static void join(const Cut& end, Cut& made);
  /// Indexed by device: the number that its digits of the factors `partial` form.
  std::vector<std::int32_t> groups(const Type& type, const FactorList& partial) const;
  /// Whether the devices of each node are exactly those that differ only in factors within nodes.
  bool nodes_are_grids(std::uint8_t side) const;

  const Problem& problem_;
  const Factors& factors_;
  TypeLayouts* others_;
  End ends_[2];        ///< target first: it is preferred if both ends could give the edges
  bool node_grid_[2];  ///< indexed by side
  LayoutPtr make(const Type& type);
  TypeNumbers numbers_;
  std::vector<LayoutPtr> layouts_;  ///< indexed by type number; null: not built yet
  std::vector<std::int32_t> index_, slot_of_index_;  ///< scratch memory of make_cut()
  /// The cuts made so far, indexed by dimension. The key consists of the side, the frame and the
  /// factors with which a type cuts the dimension.
  std::vector<std::unordered_map<std::string, CutPtr>> cuts_;
};

}  // namespace weft::reshard
