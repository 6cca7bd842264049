// SPDX-License-Identifier: Apache-2.0
// Decides where parts are stored. make_route() turns a plan into a list of layouts, drops layouts
// at the end that need no separate turn, and numbers the turns. Then find_placements() visits all
// hops once. It places each part by the first of these rules that applies:
//   1. In the last hop, the part lies in its final place in the target.
//   2. If nothing has to be received or added, the part is a view: it lies in the place of the part
//      that contains it.
//   3. If nothing in the target is overwritten while another device still reads it, the part lies
//      in its final place in the target.
//   4. Otherwise the part lies in a new block of staging.
#include "weft/reshard/execute/program/placement.h"

#include <algorithm>
#include <map>

namespace weft::reshard::execute {
namespace {

using Where = Placement::Where;

/// Staging blocks begin at multiples of this, so that elements of every type are aligned.
constexpr Bytes kBlockAlign = 16;

/// Whether part b of `outer` contains all of part a of `inner`.
bool within(const Layout& inner, Part a, const Layout& outer, Part b) {
  return common_elements(inner, a, outer, b) == inner.elements(a);
}

bool anything_moves(const Layout& from, const Layout& to) {
  const std::vector<std::int64_t> volumes = received(from, to);
  return std::any_of(volumes.begin(), volumes.end(),
                     [](std::int64_t volume) { return volume > 0; });
}

/// Whether every device that holds a part afterwards holds exactly the same part before.
bool same_parts(const Layout& before, const Layout& after) {
  if (!before.further.empty() || !after.further.empty()) return false;
  for (Device device = 0; device < after.devices(); ++device) {
    if (!after.holds(device)) continue;
    if (!before.holds(device) || !within(before, device, after, device) ||
        !within(after, device, before, device)) {
      return false;
    }
  }
  return true;
}

/// A key that is equal for devices that hold the same part: the group of the part, then its slot in
/// each dimension.
std::vector<std::int32_t> key_of(const Layout& layout, Device device) {
  std::vector<std::int32_t> key{layout.group[device]};
  for (const auto& cut : layout.cuts) key.push_back(cut->slot_of[device]);
  return key;
}

/// See Route::Hop::sole_keeper. Consider all devices that want the same part of the next layout. If
/// all of them hold the same part now, none of them receives data that another one keeps. Then the
/// result is true for these devices.
std::vector<char> sole_keeper(const Layout& from, const Layout& to) {
  std::vector<char> alone(to.devices(), 0);
  if (!to.grid || !from.further.empty() || !to.further.empty()) return alone;
  std::map<std::vector<std::int32_t>, std::vector<Device>> wanting;
  for (Device device = 0; device < to.devices(); ++device) {
    if (to.holds(device)) wanting[key_of(to, device)].push_back(device);
  }
  for (const auto& [key, devices] : wanting) {
    const auto before = key_of(from, devices[0]);
    const bool same = std::all_of(devices.begin(), devices.end(),
                                  [&](Device device) { return key_of(from, device) == before; });
    for (const Device device : devices) alone[device] = same;
  }
  return alone;
}

Route::Hop hop_between(const Layout& from, const Layout& to, bool first) {
  Route::Hop hop;
  hop.next_group.assign(from.groups, Layout::kAbsent);
  hop.merged.assign(to.groups, 0);
  for (std::size_t i = 0; i < from.group_of_summand.size(); ++i) {
    std::int32_t& group = hop.next_group[from.group_of_summand[i]];
    if (group == Layout::kAbsent) ++hop.merged[to.group_of_summand[i]];
    group = to.group_of_summand[i];
  }
  // The first hop needs no check: it reads the source buffer, to which nothing is ever added.
  const bool adds = std::any_of(hop.merged.begin(), hop.merged.end(), [](auto n) { return n > 1; });
  if (adds && !first) hop.sole_keeper = sole_keeper(from, to);
  return hop;
}

/// The part of the target that contains this part of a layout. nullptr if this part may not stay in
/// the target buffer until the end.
const Part* target_part_for(const Route& route, const std::vector<Part>& target_parts,
                            const std::vector<Part>& last_parts, std::size_t layout, Part part) {
  const Layout& at = *route.layouts[layout];
  const Layout& target = route.problem->target;
  // In the buffer of a partial target, only the data that the device holds in the end may be
  // stored. The rest of the buffer is filled with the neutral element before the first round.
  const bool stays = std::any_of(last_parts.begin(), last_parts.end(),
                                 [&](Part last) { return within(at, part, *route.last, last); });
  if (!stays) return nullptr;
  const auto target_part =
      std::find_if(target_parts.begin(), target_parts.end(),
                   [&](Part candidate) { return within(at, part, target, candidate); });
  return target_part == target_parts.end() ? nullptr : &*target_part;
}

/// Assume that the device keeps its part in the target buffer from `layout` on. Returns whether
/// nothing in this buffer is overwritten while it is still read.
bool safe_in_target_from(const Route& route, Device device, std::size_t layout) {
  for (std::size_t hop = layout; hop < route.hops.size(); ++hop) {
    const std::vector<Part> next = route.parts(hop + 1, device);
    if (next.empty() || !route.contributes(hop, device, next[0])) return false;
    const bool adds = route.hops[hop].merged[route.layouts[hop + 1]->group[next[0]]] > 1;
    if (adds && !route.hops[hop].sole_keeper[device]) return false;
  }
  return true;
}

}  // namespace

std::vector<Part> Route::parts(std::size_t layout, Device device) const {
  if (!parts_by_device[layout].empty()) return parts_by_device[layout][device];
  const Layout& at = layout < layouts.size() ? *layouts[layout] : problem->target;
  return at.holds(device) ? std::vector<Part>{device} : std::vector<Part>{};
}

void Route::for_each_storage(Device device,
                             const std::function<void(const Layout&, Part)>& take) const {
  for (std::size_t i = 0; i < parts_by_device.size(); ++i) {
    const Layout& layout = i < layouts.size() ? *layouts[i] : problem->target;
    if (parts_by_device[i].empty()) {
      if (layout.holds(device)) take(layout, device);
    } else {
      for (const Part part : parts_by_device[i][device]) take(layout, part);
    }
  }
}

bool Route::contributes(std::size_t hop, Device device, Part to) const {
  const std::int32_t group = layouts[hop]->group[device];
  return group != Layout::kAbsent && hops[hop].next_group[group] == layouts[hop + 1]->group[to];
}

Route make_route(const Problem& problem, const Plan& plan) {
  Route route;
  route.problem = &problem;
  route.last = &plan.last(problem);
  route.layouts = {&problem.source};
  for (const Step& step : plan.steps) {
    for (const LayoutPtr& layout : step.layouts) route.layouts.push_back(layout.get());
  }
  std::vector<char> moves;
  for (std::size_t i = 0; i + 1 < route.layouts.size(); ++i) {
    moves.push_back(anything_moves(*route.layouts[i], *route.layouts[i + 1]));
  }
  // A view is a layout whose parts lie inside the parts of the layout before it. At the end of the
  // route, a view would cost an additional turn, which copies it into the target. If the layout
  // before the view has the same parts, the round before can write directly to the target instead.
  while (moves.size() > 1 && !moves.back() &&
         same_parts(*route.layouts.end()[-2], *route.layouts.back())) {
    route.layouts.erase(route.layouts.end() - 2);
    moves.pop_back();
    moves.back() = anything_moves(*route.layouts.end()[-2], *route.layouts.back());
  }
  if (moves.empty()) {
    route.layouts.push_back(route.last);
    moves.push_back(false);
  }
  route.sends = std::any_of(moves.begin(), moves.end(), [](char any) { return any != 0; });
  moves.back() = true;
  for (std::size_t i = 0; i < moves.size(); ++i) {
    route.turn.push_back(moves[i] ? route.turns++ : Route::kNoTurn);
    route.hops.push_back(hop_between(*route.layouts[i], *route.layouts[i + 1], i == 0));
  }
  route.parts_by_device.resize(route.layouts.size() + 1);
  for (std::size_t i = 0; i < route.parts_by_device.size(); ++i) {
    const Layout& layout = i < route.layouts.size() ? *route.layouts[i] : problem.target;
    if (layout.further.empty()) continue;
    route.parts_by_device[i].resize(layout.devices());
    for (Part part = 0; part < layout.parts(); ++part) {
      if (layout.holds(part)) route.parts_by_device[i][layout.device_of(part)].push_back(part);
    }
  }
  return route;
}

std::vector<Part> parts_of(const Layout& layout, Device device) {
  std::vector<Part> parts;
  if (layout.holds(device)) parts.push_back(device);
  for (Part part = layout.devices(); part < layout.parts(); ++part) {
    if (layout.device_of(part) == device && layout.holds(part)) parts.push_back(part);
  }
  return parts;
}

Placements find_placements(const Route& route, Device device) {
  Placements placements;
  placements.of_layout.resize(route.layouts.size());
  for (const Part part : route.parts(0, device)) {
    placements.of_layout[0].push_back({part, Where::kSource, 0, part, 0});
  }
  const std::vector<Part> target_parts = parts_of(route.problem->target, device);
  const std::vector<Part> last_parts = parts_of(*route.last, device);
  for (std::size_t hop = 0; hop < route.hops.size(); ++hop) {
    const Layout &from = *route.layouts[hop], &to = *route.layouts[hop + 1];
    const bool ends = hop + 1 == route.hops.size();
    for (const Part part : route.parts(hop + 1, device)) {
      Placement placement{part, Where::kStaging, hop + 1, part, 0};
      const Placement* view = nullptr;
      if (route.contributes(hop, device, part) && route.hops[hop].merged[to.group[part]] == 1) {
        for (const Placement& old : placements.of_layout[hop]) {
          if (within(to, part, from, old.part)) view = &old;
        }
      }
      const Part* target_part = target_part_for(route, target_parts, last_parts, hop + 1, part);
      if (ends && target_part != nullptr) {
        placement = {part, Where::kTarget, hop + 1, *target_part, 0};
      } else if (view != nullptr) {
        placement = *view;
        placement.part = part;
      } else if (target_part != nullptr && safe_in_target_from(route, device, hop + 1)) {
        placement = {part, Where::kTarget, hop + 1, *target_part, 0};
      } else {
        placement.block = placements.blocks.size();
        const Bytes bytes = to.elements(part) * route.problem->item_size;
        placements.blocks.push_back({bytes, route.turn[hop], route.turn[hop], 0});
      }
      placements.of_layout[hop + 1].push_back(placement);
    }
  }
  for (std::size_t hop = 0; hop < route.hops.size(); ++hop) {
    std::size_t reads = hop;
    while (route.turn[reads] == Route::kNoTurn) ++reads;
    for (const Placement& placement : placements.of_layout[hop]) {
      if (placement.where == Where::kStaging)
        placements.blocks[placement.block].read = route.turn[reads];
    }
  }
  return placements;
}

Bytes arrange(const std::vector<Block*>& blocks) {
  std::vector<Block*> order = blocks;
  std::stable_sort(order.begin(), order.end(),
                   [](const Block* a, const Block* b) { return a->written < b->written; });
  Bytes all = 0;
  std::vector<const Block*> placed;
  for (Block* block : order) {
    // First fit: use the first gap between the blocks that are alive at the same time.
    std::vector<const Block*> alive;
    for (const Block* other : placed) {
      if (other->read >= block->written) alive.push_back(other);
    }
    std::sort(alive.begin(), alive.end(),
              [](const Block* a, const Block* b) { return a->offset < b->offset; });
    block->offset = 0;
    for (const Block* other : alive) {
      if (block->offset + block->bytes <= other->offset) break;
      const Bytes end =
          (other->offset + other->bytes + kBlockAlign - 1) / kBlockAlign * kBlockAlign;
      block->offset = std::max(block->offset, end);
    }
    all = std::max(all, block->offset + block->bytes);
    placed = std::move(alive);
    placed.push_back(block);
  }
  return all;
}

}  // namespace weft::reshard::execute
