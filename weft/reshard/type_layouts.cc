// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/type_layouts.h"

#include <algorithm>

namespace weft::reshard {
namespace {

bool begins_with(const std::vector<Factor>& list, const std::vector<Factor>& start) {
  return list.size() >= start.size() && std::equal(start.begin(), start.end(), list.begin());
}

/// The number that the digits of a device spell.
std::int64_t index_of(const Factors& factors, const std::vector<Factor>& list, std::size_t first,
                      std::size_t last, Device device) {
  std::int64_t index = 0;
  for (std::size_t i = first; i < last; ++i) {
    index = index * factors.radix[list[i]] + factors.digit[list[i]][device];
  }
  return index;
}

std::int64_t product(const Factors& factors, const std::vector<Factor>& list, std::size_t first) {
  std::int64_t radix = 1;
  for (std::size_t i = first; i < list.size(); ++i) radix *= factors.radix[list[i]];
  return radix;
}

}  // namespace

TypeLayouts::TypeLayouts(const Problem& problem, const FactoredProblem& factored)
    : problem_(problem),
      factors_(factored.factors),
      ends_{{&problem.target, &factored.to}, {&problem.source, &factored.from}} {}

bool TypeLayouts::consistent() const {
  const Type &to = *ends_[0].type, &from = *ends_[1].type;
  if (to.side != from.side) return true;
  for (std::size_t dim = 0; dim < to.dims.size(); ++dim) {
    if (to.dims[dim] != from.dims[dim]) continue;
    const Cut &a = *problem_.source.cuts[dim], &b = *problem_.target.cuts[dim];
    for (Device device = 0; device < problem_.source.devices(); ++device) {
      if (a.piece(device) != b.piece(device)) return false;
    }
  }
  return true;
}

const Layout& TypeLayouts::present_on(std::uint8_t side) const {
  return *ends_[ends_[0].type->side == side ? 0 : 1].layout;
}

const TypeLayouts::End* TypeLayouts::frame_of(const Type& type, std::size_t dim) const {
  if (type.frames[dim] == Frame::kTarget) return &ends_[0];
  if (type.frames[dim] == Frame::kSource) return &ends_[1];
  const End* frame = nullptr;
  for (const End& end : ends_) {
    if (end.type->side != type.side) continue;
    if (end.type->dims[dim] == type.dims[dim]) return &end;  // an end is what it is
    if (!frame && begins_with(end.type->dims[dim], type.dims[dim])) frame = &end;
  }
  return frame;
}

std::shared_ptr<const Cut> TypeLayouts::cut(const Type& type, std::size_t dim) {
  const std::vector<Factor>& list = type.dims[dim];
  std::string key{static_cast<char>(type.side), static_cast<char>(dim),
                  static_cast<char>(type.frames[dim])};
  key.append(list.begin(), list.end());
  std::shared_ptr<const Cut>& known = cuts_[key];
  if (known) return known;
  const End* frame = frame_of(type, dim);
  const Layout& present = frame ? *frame->layout : present_on(type.side);
  // Devices with the same digits have the same piece: one is made for each number they spell.
  auto made = std::make_shared<Cut>();
  std::vector<std::int32_t> slot_of_index(static_cast<std::size_t>(product(factors_, list, 0)) + 1,
                                          Layout::kAbsent);
  std::vector<std::vector<Interval>> joined;
  for (Device device = 0; device < present.devices(); ++device) {
    const bool absent = present.group[device] == Layout::kAbsent;
    const auto index =
        absent ? slot_of_index.size() - 1
               : static_cast<std::size_t>(index_of(factors_, list, 0, list.size(), device));
    std::int32_t& slot = slot_of_index[index];
    if (slot == Layout::kAbsent) {
      slot = static_cast<std::int32_t>(made->slots.size());
      made->slots.push_back(frame || absent ? Strips{} : part(device, type.side, dim, list));
      joined.emplace_back();
    }
    made->slot_of.push_back(slot);
    if (frame && !absent) {  // the pieces of that end that share these digits, joined
      const Strips& piece = present.cuts[dim]->piece(device);
      if (!piece.empty() && (joined[slot].empty() || joined[slot].back() != piece.back())) {
        joined[slot].insert(joined[slot].end(), piece.begin(), piece.end());
      }
    }
  }
  for (std::size_t slot = 0; slot < made->slots.size(); ++slot) {
    if (!joined[slot].empty()) made->slots[slot] = strips_of(std::move(joined[slot]));
    made->lengths.push_back(length(made->slots[slot]));
  }
  known = std::move(made);
  return known;
}

Strips TypeLayouts::part(Device device, std::uint8_t side, std::size_t dim,
                         const std::vector<Factor>& list) const {
  Interval whole{0, problem_.shape[dim]};
  std::size_t first = 0;
  for (const End& end : ends_) {
    const std::vector<Factor>& start = end.type->dims[dim];
    const Strips& held = end.layout->cuts[dim]->piece(device);
    if (end.type->side == side && begins_with(list, start) && held.size() <= 1) {
      whole = held.empty() ? Interval{} : held.front();
      first = start.size();
      break;
    }
  }
  const Digit digit{index_of(factors_, list, first, list.size(), device),
                    product(factors_, list, first)};
  return strips_of({split(whole, {&digit, 1}, SplitRule::kCeilFlat)});
}

std::vector<std::int32_t> TypeLayouts::groups(const Type& type,
                                              const std::vector<Factor>& partial) const {
  const Layout& present = present_on(type.side);
  std::vector<std::int32_t> group = present.group;
  for (Device device = 0; device < present.devices(); ++device) {
    if (group[device] == Layout::kAbsent) continue;
    group[device] =
        static_cast<std::int32_t>(index_of(factors_, partial, 0, partial.size(), device));
  }
  return group;
}

LayoutPtr TypeLayouts::layout(const Type& type) {
  auto layout = std::make_shared<Layout>();
  layout->shape = problem_.shape;
  for (std::size_t dim = 0; dim < type.dims.size(); ++dim) {
    layout->cuts.push_back(cut(type, dim));
  }
  layout->group = groups(type, type.partial);
  layout->groups = static_cast<std::int32_t>(product(factors_, type.partial, 0));
  // Summands are numbered by the digits of all partial factors of the source; a type that has only
  // some of them left has joined those that differ in the others.
  const std::vector<Factor>& all = ends_[1].type->partial;
  const std::int64_t summands = product(factors_, all, 0);
  layout->group_of_summand.assign(static_cast<std::size_t>(summands), 0);
  for (std::int64_t summand = 0; summand < summands && layout->groups > 1; ++summand) {
    std::int64_t group = 0;
    for (const Factor factor : type.partial) {
      const auto at = std::find(all.begin(), all.end(), factor) - all.begin();
      const std::int64_t stride = product(factors_, all, static_cast<std::size_t>(at) + 1);
      group = group * factors_.radix[factor] + summand / stride % factors_.radix[factor];
    }
    layout->group_of_summand[static_cast<std::size_t>(summand)] = static_cast<std::int32_t>(group);
  }
  return layout;
}

LayoutPtr TypeLayouts::flattened(const Type& type, const std::vector<Factor>& over) {
  const LayoutPtr whole = layout(type);
  const std::int64_t count = product(factors_, over, 0);
  std::vector<std::vector<Box>> boxes(whole->devices());
  for (Device device = 0; device < whole->devices(); ++device) {
    if (!whole->holds(device)) continue;
    Box box;
    for (const Strips& piece : whole->region(device)) {
      if (piece.size() != 1) return nullptr;
      box.push_back(piece.front());
    }
    const Digit digit{index_of(factors_, over, 0, over.size(), device), count};
    const Interval range = split({0, volume(box)}, {&digit, 1}, SplitRule::kBalanced);
    boxes[device] = flat_range(box, range.low, range.high);
  }
  auto flat = std::make_shared<Layout>(layout_of_boxes(problem_.shape, boxes));
  flat->group_of_summand = whole->group_of_summand;
  flat->groups = whole->groups;
  for (Part part = 0; part < flat->parts(); ++part) {
    flat->group[part] = whole->group[flat->device_of(part)];
  }
  return flat;
}

}  // namespace weft::reshard
