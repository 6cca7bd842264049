// SPDX-License-Identifier: Apache-2.0
// Divides the parts of a layout into slabs. If a budget is too small for the sums of a whole part,
// a device adds up one slab at a time. Slabs are counted within each part, so that in every turn
// each device works on a slab of its own, and every device knows the slabs of all others.
#pragma once

#include <vector>

#include "weft/reshard/layout/layout.h"

namespace weft::reshard::execute {

class Slabs {
 public:
  /// One slab with everything.
  Slabs() = default;
  /// Slabs of at most `most` elements each, but at least one element.
  Slabs(const Layout& layout, std::int64_t most);

  std::int64_t count() const { return count_; }
  std::int64_t elements() const { return elements_; }  ///< of the largest slab on any device
  /// The strips of a part that belong to slab `number`. Some are empty if the part has none of it.
  std::vector<Strips> of(const Layout& layout, Part part, std::int64_t number) const;

 private:
  std::size_t dim_ = 0;    ///< the dimension that is divided; earlier ones are single indices
  std::int64_t step_ = 0;  ///< indices of that dimension per slab
  std::vector<std::int64_t> extents_;  ///< of the largest part, by dimension
  std::int64_t count_ = 1, elements_ = 0;
};

}  // namespace weft::reshard::execute
