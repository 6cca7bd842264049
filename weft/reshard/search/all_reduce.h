// SPDX-License-Identifier: Apache-2.0
// Finds all-reduces between types. An all-reduce is a reduce-scatter and then an all-gather. The
// reduce-scatter divides parts along the dimension that gives the least traffic, or along the
// flattened part if no dimension divides evenly.
#pragma once

#include <optional>
#include <vector>

#include "weft/reshard/search/type_layouts.h"

namespace weft::reshard {

/// One step of a plan, as an edge of the search: it leads from a known layout to `layout`.
struct SearchEdge {
  LayoutPtr layout;   ///< the layout after the step; null: the step is impossible
  LayoutPtr between;  ///< only for an all-reduce: the layout after its first round
  Traffic traffic;    ///< summed over the rounds of the step
  /// Whether this is an all-reduce through a flattened layout that is not built yet; see
  /// AllReduces::make_flat().
  bool flat = false;
};

class AllReduces {
 public:
  /// All arguments must outlive this object.
  AllReduces(const Problem& problem, const FactoredProblem& factored, TypeLayouts& layouts,
             OverlapCache& overlaps)
      : problem_(problem), factored_(factored), layouts_(layouts), overlaps_(overlaps) {}

  /// The all-reduce from `from` to the layout of `whole` in which devices receive the fewest
  /// elements. `over` has the partial factors of `from` that `whole` does not have. The edge has no
  /// layout if no all-reduce is possible.
  SearchEdge cheapest(const LayoutPtr& from, const Type& whole, const FactorList& over);
  /// Builds the intermediate layout of a flat edge. cheapest() does not build it, to save time.
  /// `copies`: whether devices of `from` hold copies. If so, the devices with copies share the
  /// sending, so the traffic is counted again.
  void make_flat(const LayoutPtr& from, const Type& whole, const FactorList& over, bool copies,
                 SearchEdge& edge);
  /// The number of rounds that were priced so far.
  std::int64_t priced() const { return priced_; }

 private:
  SearchEdge through(const LayoutPtr& from, const LayoutPtr& between, const LayoutPtr& to);
  std::optional<SearchEdge> flat(const LayoutPtr& from, const LayoutPtr& to, const Type& whole,
                                 const FactorList& over);

  const Problem& problem_;
  const FactoredProblem& factored_;
  TypeLayouts& layouts_;
  OverlapCache& overlaps_;
  std::int64_t priced_ = 0;
  std::vector<std::int64_t> received_down_, received_up_;  ///< indexed by device
};

}  // namespace weft::reshard
