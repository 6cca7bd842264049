// SPDX-License-Identifier: Apache-2.0
// A layout says which device holds which elements of an array. There are several notations for
// distributions: meshes, boxes, block-cyclic grids, flat ranges. All of them are converted into
// layouts. Bounds, exchanges and replay work on layouts only.
//
// A part is a product of pieces, one piece per dimension. For example, rows 0-3 of columns 8-15 are
// a part. In a block-cyclic layout, a piece may be every fourth block of rows. Most devices hold
// one part. Devices with equal parts hold copies. The distinct pieces of one dimension are its
// slots. Slots are numbered, and a part stores the number of its slot in each dimension. There are
// fewer slots than devices, so comparing two layouts slot by slot is fast.
//
// Partial sums: the array is the sum (or another reduction) of several summands, which are arrays
// of the same shape. A group is a set of summands that are already added up. A device holds the sum
// of one group over its part. A layout that is not partial has one group, which contains all
// summands.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "weft/base/result.h"
#include "weft/reshard/layout/box.h"
#include "weft/reshard/round/products.h"

namespace weft::reshard {

using Shape = std::vector<std::int64_t>;
/// Devices of a problem are numbered 0, 1, 2, ... Problem::devices has the number that the user
/// gave to each.
using Device = std::int32_t;

/// The index of a part in a layout. Part d is the first part of device d. If devices hold several
/// parts, the other parts come after the first parts of all devices; see Layout::further.
using Part = std::int32_t;

/// How one dimension is distributed.
struct Cut {
  std::vector<Strips> slots;          ///< distinct pieces; disjoint in layouts of meshes
  std::vector<std::int64_t> lengths;  ///< indexed by slot
  std::vector<std::int32_t> slot_of;  ///< indexed by part
  std::vector<std::int64_t>
      length_of;                     ///< indexed by part; empty if all slots have the same length
  std::int64_t uniform_length = -1;  ///< the length of every slot; -1 if lengths differ
  bool single = false;               ///< no slot has more than one strip
  /// If every slot is one strip that starts at a multiple of the longest slot's length, `tile` is
  /// that length. Then position / tile tells which slot a position lies in, without a search.
  /// Otherwise `tile` is 0.
  std::int64_t tile = 0;

  const Strips& piece(Part part) const { return slots[slot_of[part]]; }
};

/// For each part, multiplies its entry of `product` by the length of its piece of this dimension.
inline void multiply(Product& product, const Cut& cut) {
  if (cut.uniform_length >= 0) {
    product.multiply(cut.uniform_length);
  } else {
    product.multiply(cut.length_of);
  }
}

/// Computes the other fields of a cut from `slots` and `slot_of`.
void measure(Cut& cut);
/// Makes a cut from the piece of each part. Equal pieces share a slot. Slots are numbered in the
/// order in which they first appear.
Cut make_cut(const std::vector<Strips>& piece_of_part);

struct Layout {
  static constexpr std::int32_t kAbsent = -1;

  Shape shape;
  std::vector<std::shared_ptr<const Cut>> cuts;  ///< one per dimension; layouts may share them
  std::vector<std::int32_t> group;  ///< indexed by part: its group; kAbsent: the device has no part
  std::vector<Device> further;      ///< the devices of the parts that are not first parts
  std::vector<std::int32_t> group_of_summand = {0};  ///< indexed by summand
  std::int32_t groups = 1;                           ///< the number of groups
  /// Only in partial layouts, indexed by device: the number of the device's team. The devices of
  /// one team hold different groups of summands over the same region. Together these groups add up
  /// to the array in this region.
  std::vector<std::int32_t> team;
  /// Whether each combination of slots and groups is held by some device, as in meshes and
  /// block-cyclic layouts. Then counts are products over dimensions.
  bool grid = true;
  /// Whether `grid` holds within every node too: each combination of the pieces and groups that
  /// occur in the node is held by one of the node's devices. Also false if this is unknown.
  bool node_grid = false;

  Part parts() const { return static_cast<Part>(group.size()); }
  Device devices() const { return static_cast<Device>(group.size() - further.size()); }
  Device device_of(Part part) const { return part < devices() ? part : further[part - devices()]; }
  bool partial() const { return groups > 1; }
  bool holds(Part part) const { return group[part] != kAbsent && elements(part) > 0; }
  std::int64_t elements(Part part) const;
  /// The part as one piece per dimension.
  std::vector<Strips> region(Part part) const;
  /// The number of elements on the device that holds the most, counting all parts of this device.
  std::int64_t largest() const;
};

/// Whether both layouts have the same regions and groups on every device.
bool same_distribution(const Layout& a, const Layout& b);

/// The number of elements in both part `a` of `from` and part `b` of `to`.
std::int64_t common_elements(const Layout& from, Part a, const Layout& to, Part b);

std::int64_t elements(const Shape& shape);

/// A part of an array: its piece of each dimension.
using Pieces = std::vector<Strips>;

/// Makes a layout from the parts of each device. A device may have any number of parts, which must
/// not overlap; a device without parts holds nothing.
Layout layout_of_parts(const Shape& shape, const std::vector<std::vector<Pieces>>& parts);
/// Makes a layout from the parts of each device, if all parts are boxes.
Layout layout_of_boxes(const Shape& shape, const std::vector<std::vector<Box>>& boxes);

/// Elements [low, high) of a box in row-major order, as boxes. In n dimensions there are at most 2n
/// - 1 boxes. Each device of a ragged layout holds such a range of the flattened array.
std::vector<Box> flat_range(const Box& box, std::int64_t low, std::int64_t high);

/// ScaLAPACK's distribution of a matrix. Devices form a grid. The rows of the grid take turns in
/// getting blocks of rows of the matrix. The columns of the grid take turns in getting blocks of
/// columns.
struct BlockCyclic {
  std::int64_t block[2] = {1, 1};
  std::int64_t grid[2] = {1, 1};
  std::int64_t source[2] = {0, 0};  ///< grid position that holds the first block
  bool row_major = true;            ///< order of devices in the grid
};
/// The grid may have fewer positions than there are `devices`; the remaining devices hold nothing.
Layout layout_of(const Shape& shape, const BlockCyclic& distribution, Device devices);

/// Checks that a layout can be a source: for every summand, each element is in exactly one distinct
/// region. Any number of devices may hold copies of that region. Otherwise returns an Error
/// (kInfeasible).
Status check_source(const Layout& layout);

}  // namespace weft::reshard
