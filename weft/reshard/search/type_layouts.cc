// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/search/type_layouts.h"

#include <algorithm>

namespace weft::reshard {
TypeLayouts::TypeLayouts(const Problem& problem, const FactoredProblem& factored,
                         TypeLayouts* others)
    : problem_(problem),
      factors_(factored.factors),
      others_(others),
      ends_{{&problem.target, &factored.to}, {&problem.source, &factored.from}},
      node_grid_{nodes_are_grids(0), nodes_are_grids(1)},
      cuts_(problem.shape.size()) {}

bool TypeLayouts::nodes_are_grids(std::uint8_t side) const {
  if (problem_.node_of.empty() || problem_.shape.empty()) return false;
  const FactorList& all = factors_.sides[side];
  std::vector<bool> seen(problem_.node_of.size(), false);
  std::int64_t nodes = 0;
  for (std::size_t device = 0; device < problem_.node_of.size(); ++device) {
    if (!all.empty() && factors_.digit[*all.begin()][device] == Layout::kAbsent) continue;
    const auto node = static_cast<std::size_t>(problem_.node_of[device]);
    nodes += seen[node] ? 0 : 1;
    seen[node] = true;
  }
  // Devices that differ only in factors within nodes share a node, so each node consists of whole
  // sets of such devices. If there are as many nodes as sets, each node is one set.
  return nodes * divisor(factors_, common(all, factors_.intra_node)) == divisor(factors_, all);
}

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
    if (end.type->dims[dim] == type.dims[dim]) return &end;  // exactly as in the problem
    if (!frame && end.type->dims[dim].begins_with(type.dims[dim])) frame = &end;
  }
  return frame;
}

bool TypeLayouts::divides(const Type& type, std::size_t dim) const {
  return type.frames[dim] == Frame::kPlain &&
         problem_.shape[dim] % divisor(factors_, factors_.sides[type.side]) == 0;
}

TypeLayouts::CutPtr TypeLayouts::cut(const Type& type, std::size_t dim) {
  const FactorList& list = type.dims[dim];
  std::string key;
  key.reserve(list.size() + 3);
  for (const auto item : {type.side, static_cast<std::uint8_t>(type.frames[dim])}) {
    key.push_back(static_cast<char>(item));
  }
  key.append(list.begin(), list.end());
  CutPtr& known = cuts_[dim][key];
  if (known) return known;
  if (others_ != nullptr && divides(type, dim)) return known = others_->cut(type, dim);
  known = make_cut(type, dim);
  if (others_ != nullptr) {
    const auto same = others_->cuts_[dim].find(key);
    if (same != others_->cuts_[dim].end() && same->second && same->second->slots == known->slots &&
        same->second->slot_of == known->slot_of) {
      known = same->second;
    }
  }
  return known;
}

TypeLayouts::CutPtr TypeLayouts::make_cut(const Type& type, std::size_t dim) {
  const FactorList& list = type.dims[dim];
  const End* frame = frame_of(type, dim);
  const Layout& present = frame ? *frame->layout : present_on(type.side);
  // Devices with the same digits hold the same piece. index_ is the number that the digits of a
  // device form. One slot is made for each number that occurs. Devices without a part share the
  // extra number `numbers`, whose slot is empty.
  auto made = std::make_shared<Cut>();
  const auto numbers = static_cast<std::int32_t>(divisor(factors_, list));
  index_.assign(present.devices(), 0);
  for (const Factor factor : list) {
    const std::int32_t radix = factors_.radix[factor];
    const std::int32_t* digit = factors_.digit[factor].data();
    for (Device device = 0; device < present.devices(); ++device) {
      index_[device] = index_[device] * radix + digit[device];
    }
  }
  for (Device device = 0; device < present.devices(); ++device) {
    if (present.group[device] == Layout::kAbsent) index_[device] = numbers;
  }
  slot_of_index_.assign(numbers + 1, Layout::kAbsent);
  made->slot_of.resize(present.devices());
  made->slots.reserve(numbers);
  const Share share = share_of(type, dim);
  for (Device device = 0; device < present.devices(); ++device) {
    std::int32_t& slot = slot_of_index_[index_[device]];
    if (slot == Layout::kAbsent) {
      slot = static_cast<std::int32_t>(made->slots.size());
      made->slots.emplace_back();
      if (!frame && index_[device] < numbers) {
        Interval whole{0, problem_.shape[dim]};
        if (share.of) {
          const Strips& held = share.of->piece(device);
          whole = held.empty() ? Interval{} : held.front();
        }
        const Digit digit{index_[device] % share.count, share.count};
        const Interval piece = split(whole, {&digit, 1}, SplitRule::kCeilFlat);
        if (!piece.empty()) made->slots.back().push_back(piece);
      }
    }
    made->slot_of[device] = slot;
  }
  if (frame) join(*present.cuts[dim], *made);
  measure(*made);
  return made;
}

void TypeLayouts::join(const Cut& end, Cut& made) {
  // Each piece of the end goes into one slot of the joined cut only, because devices that hold it
  // have equal digits. So it is enough to look at the first device with each piece.
  std::vector<bool> taken(end.slots.size(), false);
  for (std::size_t device = 0; device < made.slot_of.size(); ++device) {
    const auto slot = static_cast<std::size_t>(end.slot_of[device]);
    if (taken[slot]) continue;
    taken[slot] = true;
    Strips& joined = made.slots[made.slot_of[device]];
    joined.append(end.slots[slot].begin(), end.slots[slot].end());
  }
  for (Strips& joined : made.slots) {
    if (joined.size() > 1) joined = strips_of(std::move(joined));
  }
}

TypeLayouts::Share TypeLayouts::share_of(const Type& type, std::size_t dim) const {
  const FactorList& list = type.dims[dim];
  Share share{nullptr, divisor(factors_, list)};
  for (const End& end : ends_) {
    const FactorList& start = end.type->dims[dim];
    const Cut& cut = *end.layout->cuts[dim];
    if (end.type->side == type.side && list.begins_with(start) && cut.single) {
      return {&cut, divisor(factors_, list, start.size())};
    }
  }
  return share;
}

std::vector<std::int32_t> TypeLayouts::groups(const Type& type, const FactorList& partial) const {
  const Layout& present = present_on(type.side);
  std::vector<std::int32_t> group(present.devices(), 0);
  for (const Factor factor : partial) {
    const std::int32_t radix = factors_.radix[factor];
    const std::int32_t* digit = factors_.digit[factor].data();
    for (Device device = 0; device < present.devices(); ++device) {
      group[device] = group[device] * radix + digit[device];
    }
  }
  for (Device device = 0; device < present.devices(); ++device) {
    if (present.group[device] == Layout::kAbsent) group[device] = Layout::kAbsent;
  }
  return group;
}

LayoutPtr TypeLayouts::layout(TypeNumber number) {
  if (layouts_.size() < numbers_.size()) layouts_.resize(numbers_.size());
  if (!layouts_[number]) layouts_[number] = make(numbers_[number]);
  return layouts_[number];
}

LayoutPtr TypeLayouts::make(const Type& type) {
  auto layout = std::make_shared<Layout>();
  layout->shape = problem_.shape;
  layout->cuts.reserve(type.dims.size());
  for (std::size_t dim = 0; dim < type.dims.size(); ++dim) {
    layout->cuts.push_back(cut(type, dim));
  }
  layout->node_grid = node_grid_[type.side];
  layout->group = groups(type, type.partial);
  layout->groups = static_cast<std::int32_t>(divisor(factors_, type.partial));
  // The number of a summand consists of the digits of all partial factors of the source. If a type
  // has only some of these factors, it has merged the summands that differ only in the other
  // factors. So the number of a summand's group consists of the remaining digits.
  const FactorList& all = ends_[1].type->partial;
  const std::int64_t summands = divisor(factors_, all);
  layout->group_of_summand.assign(static_cast<std::size_t>(summands), 0);
  for (const Factor factor : type.partial) {
    const auto at = std::find(all.begin(), all.end(), factor) - all.begin();
    const std::int64_t stride = divisor(factors_, all, static_cast<std::size_t>(at) + 1);
    const std::int32_t radix = factors_.radix[factor];
    // From summand to summand, the digit grows by 1 after every `stride` summands. When it reaches
    // `radix`, it starts again at 0.
    std::int32_t digit = 0;
    std::int64_t left = stride;
    for (std::int32_t& group : layout->group_of_summand) {
      group = group * radix + digit;
      if (--left > 0) continue;
      left = stride;
      if (++digit == radix) digit = 0;
    }
  }
  return layout;
}

Interval TypeLayouts::flat_range_of(std::int64_t elements, const FactorList& over,
                                    Device device) const {
  Digit digit{0, divisor(factors_, over)};
  for (const Factor factor : over) {
    digit.value = digit.value * factors_.radix[factor] + factors_.digit[factor][device];
  }
  return split({0, elements}, {&digit, 1}, SplitRule::kBalanced);
}

LayoutPtr TypeLayouts::flattened(const Type& type, const FactorList& over) {
  const LayoutPtr whole = layout(type);
  std::vector<std::vector<Box>> boxes(whole->devices());
  for (Device device = 0; device < whole->devices(); ++device) {
    if (!whole->holds(device)) continue;
    Box box;
    for (const Strips& piece : whole->region(device)) {
      if (piece.size() != 1) return nullptr;
      box.push_back(piece.front());
    }
    const Interval range = flat_range_of(volume(box), over, device);
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
