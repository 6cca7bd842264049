// SPDX-License-Identifier: Apache-2.0
// Divides the parts of a layout into slabs, which are slices of parts. If a budget is too small for
// the sums of a whole part, a device adds up one slab at a time. Slabs are numbered within each
// part. So in every turn each device works on a slab of its own part, and every device knows the
// slabs of all other devices.
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
  /// The strips of a part that belong to slab `number`. If the slab contains nothing of the part,
  /// some of the strips are empty.
  std::vector<Strips> of(const Layout& layout, Part part, std::int64_t number) const;

 private:
  /// The dimension that is divided; in earlier dimensions a slab has one index.
  std::size_t dim_ = 0;
  std::int64_t step_ = 0;              ///< indices of that dimension per slab
  std::vector<std::int64_t> extents_;  ///< of the largest part, indexed by dimension
  std::int64_t count_ = 1, elements_ = 0;
};

}  // namespace weft::reshard::execute
