// SPDX-License-Identifier: Apache-2.0
// Parts of a layout, a slab at a time: what a device adds up at once where a budget does not hold
// the sums of its whole part. Slabs are counted inside of parts, so all devices are at work on one
// of theirs in every turn, and any device can tell those of all others.
#pragma once

#include <vector>

#include "weft/reshard/layout/layout.h"

namespace weft::reshard::execute {

class Slabs {
 public:
  /// One, of everything.
  Slabs() = default;
  /// Of at most `most` elements each, or of one.
  Slabs(const Layout& layout, std::int64_t most);

  std::int64_t count() const { return count_; }
  std::int64_t elements() const { return elements_; }  ///< of the largest, on any device
  /// The strips of a part that are in a slab; some are empty where it has none of it.
  std::vector<Strips> of(const Layout& layout, Part part, std::int64_t number) const;

 private:
  std::size_t dim_ = 0;                ///< that is divided; those before it are single indices
  std::int64_t step_ = 0;              ///< how far, of it
  std::vector<std::int64_t> extents_;  ///< of the largest part, of each dimension
  std::int64_t count_ = 1, elements_ = 0;
};

}  // namespace weft::reshard::execute
