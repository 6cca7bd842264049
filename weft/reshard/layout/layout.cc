// SPDX-License-Identifier: Apache-2.0
// Builds layouts from boxes, ranges and block-cyclic distributions, and checks whether a layout can
// be a source. A cut is built from the piece of every part, and may then be shared between layouts.
// Cuts are never changed, so that caches can use their addresses as keys.
#include "weft/reshard/layout/layout.h"

#include <map>
#include <set>
#include <string>

namespace weft::reshard {
namespace {

/// Orders strips, so that they can be keys of the map in make_cut(). Any order would do.
struct ByBounds {
  bool operator()(const Strips& a, const Strips& b) const {
    return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(),
                                        [](const Interval& x, const Interval& y) {
                                          return x.low != y.low ? x.low < y.low : x.high < y.high;
                                        });
  }
};

/// Whether two parts have common elements. They do if their pieces overlap in every dimension.
bool overlap(const Layout& layout, Part a, Part b) {
  return std::all_of(layout.cuts.begin(), layout.cuts.end(), [&](const auto& cut) {
    return common_length(cut->piece(a), cut->piece(b)) > 0;
  });
}

}  // namespace

void measure(Cut& cut) {
  cut.lengths.clear();
  cut.lengths.reserve(cut.slots.size());
  for (const Strips& slot : cut.slots) cut.lengths.push_back(length(slot));
  const auto [least, most] = std::minmax_element(cut.lengths.begin(), cut.lengths.end());
  cut.uniform_length = !cut.lengths.empty() && *least == *most ? *least : -1;
  cut.length_of.clear();
  if (cut.uniform_length < 0) {
    cut.length_of.reserve(cut.slot_of.size());
    for (const std::int32_t slot : cut.slot_of) cut.length_of.push_back(cut.lengths[slot]);
  }
  cut.single = std::all_of(cut.slots.begin(), cut.slots.end(),
                           [](const Strips& slot) { return slot.size() <= 1; });
  // With a tile, position / tile tells which slot a position lies in, so nobody has to search the
  // slots. The tile is the length of the longest slot. It works if every slot starts at a multiple
  // of this length, because no slot then reaches beyond the next multiple. The last slot may be
  // shorter, as in chunks of ceil(n / count). If there is no such length, the tile is 0, and slots
  // are searched.
  cut.tile = cut.single && !cut.lengths.empty() ? *most : 0;
  for (const Strips& slot : cut.slots) {
    if (cut.tile > 0 && !slot.empty() && slot.front().low % cut.tile != 0) cut.tile = 0;
  }
}

Cut make_cut(const std::vector<Strips>& piece_of_part) {
  Cut cut;
  std::map<Strips, std::int32_t, ByBounds> number;
  cut.slot_of.reserve(piece_of_part.size());
  for (const Strips& piece : piece_of_part) {
    const auto [found, fresh] = number.emplace(piece, static_cast<std::int32_t>(cut.slots.size()));
    if (fresh) cut.slots.push_back(piece);
    cut.slot_of.push_back(found->second);
  }
  measure(cut);
  return cut;
}

std::int64_t Layout::elements(Part part) const {
  std::int64_t product = 1;
  for (const auto& cut : cuts) product *= cut->lengths[cut->slot_of[part]];
  return product;
}

std::vector<Strips> Layout::region(Part part) const {
  std::vector<Strips> dims;
  for (const auto& cut : cuts) dims.push_back(cut->piece(part));
  return dims;
}

std::int64_t Layout::largest() const {
  // If each device has one part, the sizes of parts are products over dimensions. They are computed
  // for all parts at once.
  if (further.empty()) {
    Product product;
    for (const auto& cut : cuts) multiply(product, *cut);
    if (product.uniform()) {
      const bool any = std::any_of(group.begin(), group.end(), [](auto g) { return g != kAbsent; });
      return any ? product.uniform_value() : 0;
    }
    std::vector<std::int64_t> scratch;
    const std::int64_t* held = product.values(group.size(), scratch);
    std::int64_t most = 0;
    for (Part part = 0; part < parts(); ++part) {
      if (group[part] != kAbsent) most = std::max(most, held[part]);
    }
    return most;
  }
  // If devices have several parts, add up the parts of each device.
  std::vector<std::int64_t> held(devices(), 0);
  for (Part part = 0; part < parts(); ++part) {
    if (group[part] != kAbsent) held[device_of(part)] += elements(part);
  }
  return *std::max_element(held.begin(), held.end());
}

bool same_distribution(const Layout& a, const Layout& b) {
  if (a.shape != b.shape || a.further != b.further || a.groups != b.groups) return false;
  if (a.parts() != b.parts()) return false;
  for (Part part = 0; part < a.parts(); ++part) {
    if (a.holds(part) != b.holds(part)) return false;
    if (!a.holds(part)) continue;
    if (a.group[part] != b.group[part] || a.region(part) != b.region(part)) return false;
  }
  return true;
}

std::int64_t common_elements(const Layout& from, Part a, const Layout& to, Part b) {
  std::int64_t product = 1;
  for (std::size_t i = 0; i < from.cuts.size() && product > 0; ++i) {
    product *= common_length(from.cuts[i]->piece(a), to.cuts[i]->piece(b));
  }
  return product;
}

std::int64_t elements(const Shape& shape) {
  std::int64_t product = 1;
  for (const std::int64_t size : shape) product *= size;
  return product;
}

Layout layout_of_parts(const Shape& shape, const std::vector<std::vector<Pieces>>& parts) {
  Layout layout;
  layout.shape = shape;
  layout.grid = false;
  std::vector<const Pieces*> regions;  // indexed by part; null: the device has no part
  for (const auto& list : parts) regions.push_back(list.empty() ? nullptr : &list.front());
  for (std::size_t device = 0; device < parts.size(); ++device) {
    for (std::size_t i = 1; i < parts[device].size(); ++i) {
      regions.push_back(&parts[device][i]);
      layout.further.push_back(static_cast<Device>(device));
    }
  }
  for (std::size_t dim = 0; dim < shape.size(); ++dim) {
    std::vector<Strips> pieces;
    for (const Pieces* region : regions) pieces.push_back(region ? (*region)[dim] : Strips{});
    layout.cuts.push_back(std::make_shared<Cut>(make_cut(pieces)));
  }
  for (const Pieces* region : regions) layout.group.push_back(region ? 0 : Layout::kAbsent);
  return layout;
}

Layout layout_of_boxes(const Shape& shape, const std::vector<std::vector<Box>>& boxes) {
  std::vector<std::vector<Pieces>> parts(boxes.size());
  for (std::size_t device = 0; device < boxes.size(); ++device) {
    for (const Box& box : boxes[device]) {
      Pieces& region = parts[device].emplace_back();
      for (const Interval& side : box) region.push_back(strips_of({side}));
    }
  }
  return layout_of_parts(shape, parts);
}

std::vector<Box> flat_range(const Box& box, std::int64_t low, std::int64_t high) {
  high = std::min(high, volume(box));
  if (low >= high) return {};
  if (box.empty()) return {box};
  const Box inner(box.begin() + 1, box.end());
  const std::int64_t row = volume(inner);
  const auto with_rows = [&](Interval rows, const Box& rest) {
    Box whole{{box[0].low + rows.low, box[0].low + rows.high}};
    whole.append(rest.begin(), rest.end());
    return whole;
  };
  // The range consists of the end of a first row, some whole rows, and the start of a last row.
  // Each of the two incomplete rows is a range of a box with one dimension less.
  std::vector<Box> boxes;
  const std::int64_t first = low / row, last = high / row;
  const auto part_of_row = [&](std::int64_t at, std::int64_t begin, std::int64_t end) {
    for (const Box& rest : flat_range(inner, begin, end)) {
      boxes.push_back(with_rows({at, at + 1}, rest));
    }
  };
  if (first == last) {
    part_of_row(first, low % row, high % row);
    return boxes;
  }
  const std::int64_t whole = low % row == 0 ? first : first + 1;
  if (whole > first) part_of_row(first, low % row, row);
  if (whole < last) boxes.push_back(with_rows({whole, last}, inner));
  part_of_row(last, 0, high % row);
  return boxes;
}

Layout layout_of(const Shape& shape, const BlockCyclic& distribution, Device devices) {
  Layout layout;
  layout.shape = shape;
  const std::int64_t* grid = distribution.grid;
  layout.group.assign(devices, Layout::kAbsent);
  for (std::size_t dim = 0; dim < 2; ++dim) {
    std::vector<Strips> dealt(grid[dim]);
    for (std::int64_t at = 0, next = distribution.source[dim]; at < shape[dim];
         at += distribution.block[dim]) {
      dealt[next].push_back({at, std::min(at + distribution.block[dim], shape[dim])});
      next = (next + 1) % grid[dim];
    }
    std::vector<Strips> parts(devices);
    for (Device device = 0; device < grid[0] * grid[1]; ++device) {
      const std::int64_t minor = distribution.row_major ? grid[1] : grid[0];
      const bool is_major = (dim == 0) == distribution.row_major;
      parts[device] = strips_of(dealt[is_major ? device / minor : device % minor]);
      layout.group[device] = 0;
    }
    layout.cuts.push_back(std::make_shared<Cut>(make_cut(parts)));
  }
  return layout;
}

Status check_source(const Layout& layout) {
  // Collect each distinct part of each group once. If several devices have an equal part, they hold
  // copies. If the distinct parts of a group do not overlap and have as many elements as the array
  // in total, they cover the array.
  std::set<std::vector<std::int32_t>> seen;
  std::vector<Part> distinct;
  std::int64_t held = 0;
  for (Part part = 0; part < layout.parts(); ++part) {
    if (!layout.holds(part)) continue;
    std::vector<std::int32_t> key{layout.group[part]};
    for (const auto& cut : layout.cuts) key.push_back(cut->slot_of[part]);
    if (!seen.insert(key).second) continue;
    distinct.push_back(part);
    held += layout.elements(part);
  }
  if (!layout.grid) {  // the parts of a grid are disjoint by construction
    for (std::size_t i = 0; i < distinct.size(); ++i) {
      for (std::size_t k = 0; k < i; ++k) {
        if (overlap(layout, distinct[i], distinct[k])) {
          return fail(ErrorCode::kInfeasible,
                      "two parts of the source overlap but are not equal; each element must be in "
                      "one part, or in equal copies of it");
        }
      }
    }
  }
  if (held != elements(layout.shape) * layout.groups) {
    return fail(ErrorCode::kInfeasible, "the source does not hold every element of the array");
  }
  return {};
}

}  // namespace weft::reshard
