// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/layout.h"

#include <map>
#include <set>
#include <string>

namespace weft::reshard {
namespace {

struct ByBounds {
  bool operator()(const Strips& a, const Strips& b) const {
    return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(),
                                        [](const Interval& x, const Interval& y) {
                                          return x.low != y.low ? x.low < y.low : x.high < y.high;
                                        });
  }
};

bool overlap(const Layout& layout, Device a, Device b) {
  return std::all_of(layout.cuts.begin(), layout.cuts.end(), [&](const auto& cut) {
    return common_length(cut->part(a), cut->part(b)) > 0;
  });
}

}  // namespace

Cut make_cut(const std::vector<Strips>& part_of_device) {
  Cut cut;
  std::map<Strips, std::int32_t, ByBounds> number;
  cut.slot_of.reserve(part_of_device.size());
  for (const Strips& part : part_of_device) {
    const auto [found, fresh] = number.emplace(part, static_cast<std::int32_t>(cut.slots.size()));
    if (fresh) {
      cut.slots.push_back(part);
      cut.lengths.push_back(length(part));
    }
    cut.slot_of.push_back(found->second);
  }
  return cut;
}

std::int64_t Layout::elements(Device device) const {
  std::int64_t product = 1;
  for (const auto& cut : cuts) product *= cut->lengths[cut->slot_of[device]];
  return product;
}

std::vector<Strips> Layout::region(Device device) const {
  std::vector<Strips> dims;
  for (const auto& cut : cuts) dims.push_back(cut->part(device));
  return dims;
}

std::int64_t Layout::largest() const {
  std::int64_t most = 0;
  for (Device device = 0; device < devices(); ++device) {
    if (group[device] != kAbsent) most = std::max(most, elements(device));
  }
  return most;
}

bool same_distribution(const Layout& a, const Layout& b) {
  if (a.shape != b.shape || a.devices() != b.devices() || a.groups != b.groups) return false;
  for (Device device = 0; device < a.devices(); ++device) {
    if (a.holds(device) != b.holds(device)) return false;
    if (!a.holds(device)) continue;
    if (a.group[device] != b.group[device] || a.region(device) != b.region(device)) return false;
  }
  return true;
}

std::int64_t elements(const Shape& shape) {
  std::int64_t product = 1;
  for (const std::int64_t size : shape) product *= size;
  return product;
}

Layout layout_of_boxes(const Shape& shape, const std::vector<Box>& boxes) {
  Layout layout;
  layout.shape = shape;
  layout.grid = false;
  for (std::size_t dim = 0; dim < shape.size(); ++dim) {
    std::vector<Strips> parts;
    for (const Box& box : boxes) {
      parts.push_back(box.empty() ? Strips{} : strips_of({box[dim]}));
    }
    layout.cuts.push_back(std::make_shared<Cut>(make_cut(parts)));
  }
  for (const Box& box : boxes) {
    layout.group.push_back(box.empty() && !shape.empty() ? Layout::kAbsent : 0);
  }
  return layout;
}

Layout layout_of(const Shape& shape, const BlockCyclic& deal, Device devices) {
  Layout layout;
  layout.shape = shape;
  const std::int64_t* grid = deal.grid;
  layout.group.assign(devices, Layout::kAbsent);
  for (std::size_t dim = 0; dim < 2; ++dim) {
    std::vector<std::vector<Interval>> dealt(grid[dim]);
    for (std::int64_t at = 0, next = deal.source[dim]; at < shape[dim]; at += deal.block[dim]) {
      dealt[next].push_back({at, std::min(at + deal.block[dim], shape[dim])});
      next = (next + 1) % grid[dim];
    }
    std::vector<Strips> parts(devices);
    for (Device device = 0; device < grid[0] * grid[1]; ++device) {
      const std::int64_t minor = deal.row_major ? grid[1] : grid[0];
      const bool is_major = (dim == 0) == deal.row_major;
      parts[device] = strips_of(dealt[is_major ? device / minor : device % minor]);
      layout.group[device] = 0;
    }
    layout.cuts.push_back(std::make_shared<Cut>(make_cut(parts)));
  }
  return layout;
}

Status check_source(const Layout& layout) {
  // One device for each distinct part of each group.
  std::set<std::vector<std::int32_t>> seen;
  std::vector<Device> distinct;
  std::int64_t held = 0;
  for (Device device = 0; device < layout.devices(); ++device) {
    if (!layout.holds(device)) continue;
    std::vector<std::int32_t> key{layout.group[device]};
    for (const auto& cut : layout.cuts) key.push_back(cut->slot_of[device]);
    if (!seen.insert(key).second) continue;
    distinct.push_back(device);
    held += layout.elements(device);
  }
  if (!layout.grid) {  // a grid is disjoint by construction
    for (std::size_t i = 0; i < distinct.size(); ++i) {
      for (std::size_t k = 0; k < i; ++k) {
        if (overlap(layout, distinct[i], distinct[k])) {
          return fail(ErrorCode::kInfeasible, "parts of the source overlap without being equal");
        }
      }
    }
  }
  if (held != elements(layout.shape) * layout.groups) {
    return fail(ErrorCode::kInfeasible, "the source does not hold every element");
  }
  return {};
}

}  // namespace weft::reshard
