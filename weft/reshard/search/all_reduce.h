// SPDX-License-Identifier: Apache-2.0
// All-reduces of types: a reduce-scatter and a gather, along the dimension that suits best, or
// along all of them flattened where none divides.
#pragma once

#include <optional>
#include <vector>

#include "weft/reshard/search/type_layouts.h"

namespace weft::reshard {

/// One step from a type to another.
struct SearchEdge {
  LayoutPtr layout;
  LayoutPtr between;  ///< of an all-reduce: where its first round leads
  Traffic traffic;
  bool flat = false;  ///< likewise, and that is a flattened layout, which is not made yet
};

class AllReduces {
 public:
  /// All must outlive it.
  AllReduces(const Problem& problem, const FactoredProblem& factored, TypeLayouts& layouts,
             OverlapCache& overlaps)
      : problem_(problem), factored_(factored), layouts_(layouts), overlaps_(overlaps) {}

  /// From a layout to that of `whole`, which lacks the partial factors `over`. No layout: there is
  /// no way.
  SearchEdge cheapest(const LayoutPtr& from, const Type& whole, const FactorList& over);
  /// Makes what a flat way left out. `copies`: `from` has some, which share the sending.
  void make_flat(const LayoutPtr& from, const Type& whole, const FactorList& over, bool copies,
                 SearchEdge& way);
  /// Rounds that were priced.
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
  std::vector<std::int64_t> received_down_, received_up_;  ///< by device
};

}  // namespace weft::reshard
