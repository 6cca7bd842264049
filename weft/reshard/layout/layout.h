// SPDX-License-Identifier: Apache-2.0
// Who holds what: the one form that every way to distribute an array is brought into, and that
// everything else (bounds, exchanges, replay) works on.
//
// Each device holds a product of parts of the dimensions, such as rows 0-3 of columns 8-15, or, of
// a block-cyclic layout, every fourth block of both. Devices that hold the same are copies of each
// other. The parts of one dimension are numbered (slots), so that devices refer to them by number
// and two layouts are compared slot by slot instead of device by device.
//
// Partial sums: the array is the sum (or other reduction) of `summands`. A device holds, over its
// region, the reduction of one group of them. A layout that is not partial has one group of all.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "weft/base/result.h"
#include "weft/reshard/layout/box.h"
#include "weft/reshard/round/products.h"

namespace weft::reshard {

using Shape = std::vector<std::int64_t>;
/// Dense, within a problem; Problem::devices tells the user's number.
using Device = std::int32_t;

/// Index of a part in a layout. Part d is the first of device d; further ones follow behind.
using Part = std::int32_t;

/// How one dimension is distributed.
struct Cut {
  std::vector<Strips> slots;            ///< distinct; disjoint in the layouts of meshes
  std::vector<std::int64_t> lengths;    ///< of slots
  std::vector<std::int32_t> slot_of;    ///< by part
  std::vector<std::int64_t> length_of;  ///< by part, where lengths differ; else empty
  std::int64_t uniform_length = -1;              ///< the length of all slots; -1: they differ
  bool single = false;                  ///< no slot has more than one strip
  /// The longest slot, where each is one strip from a multiple of it on; else 0.
  std::int64_t tile = 0;

  const Strips& piece(Part part) const { return slots[slot_of[part]]; }
};

/// Times what each part has of the dimension.
inline void multiply(Product& product, const Cut& cut) {
  if (cut.uniform_length >= 0) {
    product.multiply(cut.uniform_length);
  } else {
    product.multiply(cut.length_of);
  }
}

/// Fills what follows from slots and slot_of.
void measure(Cut& cut);
/// The piece of each part, as a Cut: equal ones share a slot, slots are numbered as they appear.
Cut make_cut(const std::vector<Strips>& piece_of_part);

struct Layout {
  static constexpr std::int32_t kAbsent = -1;

  Shape shape;
  std::vector<std::shared_ptr<const Cut>> cuts;  ///< one a dimension
  std::vector<std::int32_t> group;               ///< by part; kAbsent: there is none
  std::vector<Device> further;                   ///< devices of the parts behind the first ones
  std::vector<std::int32_t> group_of_summand = {0};
  std::int32_t groups = 1;
  /// By device, of a partial layout: devices of one team add up to the whole region.
  std::vector<std::int32_t> team;
  /// Every combination of slots is held by somebody, as in meshes and block-cyclic layouts.
  bool grid = true;
  /// Within every node, too: of the pieces and groups that its devices hold, each combination is
  /// held by one of them. False where that is not known.
  bool node_grid = false;

  Part parts() const { return static_cast<Part>(group.size()); }
  Device devices() const { return static_cast<Device>(group.size() - further.size()); }
  Device device_of(Part part) const { return part < devices() ? part : further[part - devices()]; }
  bool partial() const { return groups > 1; }
  bool holds(Part part) const { return group[part] != kAbsent && elements(part) > 0; }
  std::int64_t elements(Part part) const;
  std::vector<Strips> region(Part part) const;
  /// Elements of all parts of the device that has most.
  std::int64_t largest() const;
};

/// Whether both have the same regions and groups on every device.
bool same_distribution(const Layout& a, const Layout& b);

/// That both parts have.
std::int64_t common_elements(const Layout& from, Part a, const Layout& to, Part b);

std::int64_t elements(const Shape& shape);

/// A part of an array: its piece of each dimension.
using Pieces = std::vector<Strips>;

/// Any number of parts a device, which do not overlap; empty ones hold nothing.
Layout layout_of_parts(const Shape& shape, const std::vector<std::vector<Pieces>>& parts);
/// Likewise, each a box.
Layout layout_of_boxes(const Shape& shape, const std::vector<std::vector<Box>>& boxes);

/// Elements [low, high) of a box in row-major order, as boxes: what ragged shards hold.
std::vector<Box> flat_range(const Box& box, std::int64_t low, std::int64_t high);

/// ScaLAPACK's distribution of a matrix: blocks dealt out to a grid of devices in both dimensions.
struct BlockCyclic {
  std::int64_t block[2] = {1, 1};
  std::int64_t grid[2] = {1, 1};
  std::int64_t source[2] = {0, 0};  ///< grid position that owns the first block
  bool row_major = true;            ///< order of devices in the grid
};
Layout layout_of(const Shape& shape, const BlockCyclic& distribution, Device devices);

/// An Error unless every element is held, and each summand of it in one region alone (with any
/// number of copies): what a source must be to be read from.
Status check_source(const Layout& layout);

}  // namespace weft::reshard
