// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/execute/program/homes.h"

#include <algorithm>
#include <map>

namespace weft::reshard::execute {
namespace {

using Where = Home::Where;

/// Staging blocks begin at multiples of this, so that elements of all types are aligned.
constexpr Bytes kHomeAlign = 16;

bool within(const Layout& inner, Part a, const Layout& outer, Part b) {
  return common_elements(inner, a, outer, b) == inner.elements(a);
}

bool anything_moves(const Layout& from, const Layout& to) {
  const std::vector<std::int64_t> volumes = received(from, to);
  return std::any_of(volumes.begin(), volumes.end(),
                     [](std::int64_t volume) { return volume > 0; });
}

/// Whether whoever holds something after holds just that before.
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

std::vector<std::int32_t> key_of(const Layout& layout, Device device) {
  std::vector<std::int32_t> key{layout.group[device]};
  for (const auto& cut : layout.cuts) key.push_back(cut->slot_of[device]);
  return key;
}

/// See Course::Way. True where all who want the same part of the next layout have the same now.
std::vector<char> keeps_alone(const Layout& from, const Layout& to) {
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

Course::Way way_between(const Layout& from, const Layout& to, bool first) {
  Course::Way way;
  way.leads_to.assign(from.groups, Layout::kAbsent);
  way.joins.assign(to.groups, 0);
  for (std::size_t i = 0; i < from.group_of_summand.size(); ++i) {
    std::int32_t& group = way.leads_to[from.group_of_summand[i]];
    if (group == Layout::kAbsent) ++way.joins[to.group_of_summand[i]];
    group = to.group_of_summand[i];
  }
  // What lies in the source buffer at first is never added to.
  const bool adds = std::any_of(way.joins.begin(), way.joins.end(), [](auto n) { return n > 1; });
  if (adds && !first) way.keeps_alone = keeps_alone(from, to);
  return way;
}

/// The part of the target that a part of a layout lies in, if it may lie there until the end.
const Part* final_place(const Course& course, const std::vector<Part>& target_parts,
                        const std::vector<Part>& last_parts, std::size_t layout, Part part) {
  const Layout& at = *course.layouts[layout];
  const Layout& target = course.problem->target;
  // Of a partial target only what this device has in the end: the rest is neutral.
  const bool stays = std::any_of(last_parts.begin(), last_parts.end(),
                                 [&](Part last) { return within(at, part, *course.last, last); });
  if (!stays) return nullptr;
  const auto place = std::find_if(target_parts.begin(), target_parts.end(), [&](Part candidate) {
    return within(at, part, target, candidate);
  });
  return place == target_parts.end() ? nullptr : &*place;
}

/// Whether what lies in the target buffer from `layout` on is never overwritten while it is read.
bool safe_from(const Course& course, Device device, std::size_t layout) {
  for (std::size_t way = layout; way < course.ways.size(); ++way) {
    const std::vector<Part> next = course.parts(way + 1, device);
    if (next.empty() || !course.carries_on(way, device, next[0])) return false;
    const bool adds = course.ways[way].joins[course.layouts[way + 1]->group[next[0]]] > 1;
    if (adds && !course.ways[way].keeps_alone[device]) return false;
  }
  return true;
}

}  // namespace

std::vector<Part> Course::parts(std::size_t layout, Device device) const {
  if (!several[layout].empty()) return several[layout][device];
  const Layout& at = layout < layouts.size() ? *layouts[layout] : problem->target;
  return at.holds(device) ? std::vector<Part>{device} : std::vector<Part>{};
}

void Course::for_each_storage(Device device,
                              const std::function<void(const Layout&, Part)>& take) const {
  for (std::size_t i = 0; i < several.size(); ++i) {
    const Layout& layout = i < layouts.size() ? *layouts[i] : problem->target;
    if (several[i].empty()) {
      if (layout.holds(device)) take(layout, device);
    } else {
      for (const Part part : several[i][device]) take(layout, part);
    }
  }
}

bool Course::carries_on(std::size_t way, Device device, Part to) const {
  const std::int32_t group = layouts[way]->group[device];
  return group != Layout::kAbsent && ways[way].leads_to[group] == layouts[way + 1]->group[to];
}

Course make_course(const Problem& problem, const Plan& plan) {
  Course course;
  course.problem = &problem;
  course.last = &plan.last(problem);
  course.layouts = {&problem.source};
  for (const Step& step : plan.steps) {
    for (const LayoutPtr& layout : step.layouts) course.layouts.push_back(layout.get());
  }
  std::vector<char> moves;
  for (std::size_t i = 0; i + 1 < course.layouts.size(); ++i) {
    moves.push_back(anything_moves(*course.layouts[i], *course.layouts[i + 1]));
  }
  // At the end views cost a turn, unless what is left of them can be received as it is.
  while (moves.size() > 1 && !moves.back() &&
         same_parts(*course.layouts.end()[-2], *course.layouts.back())) {
    course.layouts.erase(course.layouts.end() - 2);
    moves.pop_back();
    moves.back() = anything_moves(*course.layouts.end()[-2], *course.layouts.back());
  }
  if (moves.empty()) {
    course.layouts.push_back(course.last);
    moves.push_back(false);
  }
  course.sends = std::any_of(moves.begin(), moves.end(), [](char any) { return any != 0; });
  moves.back() = true;
  for (std::size_t i = 0; i < moves.size(); ++i) {
    course.turn.push_back(moves[i] ? course.turns++ : Course::kNoTurn);
    course.ways.push_back(way_between(*course.layouts[i], *course.layouts[i + 1], i == 0));
  }
  course.several.resize(course.layouts.size() + 1);
  for (std::size_t i = 0; i < course.several.size(); ++i) {
    const Layout& layout = i < course.layouts.size() ? *course.layouts[i] : problem.target;
    if (layout.further.empty()) continue;
    course.several[i].resize(layout.devices());
    for (Part part = 0; part < layout.parts(); ++part) {
      if (layout.holds(part)) course.several[i][layout.device_of(part)].push_back(part);
    }
  }
  return course;
}

Homes find_homes(const Course& course, Device device) {
  Homes homes;
  homes.of_layout.resize(course.layouts.size());
  for (const Part part : course.parts(0, device)) {
    homes.of_layout[0].push_back({part, Where::kSource, 0, part, 0});
  }
  const auto parts_of = [&](const Layout& layout) {
    std::vector<Part> parts;
    if (layout.holds(device)) parts.push_back(device);
    for (Part part = layout.devices(); part < layout.parts(); ++part) {
      if (layout.device_of(part) == device && layout.holds(part)) parts.push_back(part);
    }
    return parts;
  };
  const std::vector<Part> target_parts = parts_of(course.problem->target);
  const std::vector<Part> last_parts = parts_of(*course.last);
  for (std::size_t way = 0; way < course.ways.size(); ++way) {
    const Layout &from = *course.layouts[way], &to = *course.layouts[way + 1];
    const bool ends = way + 1 == course.ways.size();
    for (const Part part : course.parts(way + 1, device)) {
      Home home{part, Where::kStaging, way + 1, part, 0};
      const Home* view = nullptr;
      if (course.carries_on(way, device, part) && course.ways[way].joins[to.group[part]] == 1) {
        for (const Home& old : homes.of_layout[way]) {
          if (within(to, part, from, old.part)) view = &old;
        }
      }
      const Part* place = final_place(course, target_parts, last_parts, way + 1, part);
      if (ends && place != nullptr) {
        home = {part, Where::kTarget, way + 1, *place, 0};
      } else if (view != nullptr) {
        home = *view;
        home.part = part;
      } else if (place != nullptr && safe_from(course, device, way + 1)) {
        home = {part, Where::kTarget, way + 1, *place, 0};
      } else {
        home.block = homes.blocks.size();
        const Bytes bytes = to.elements(part) * course.problem->item_size;
        homes.blocks.push_back({bytes, course.turn[way], course.turn[way], 0});
      }
      homes.of_layout[way + 1].push_back(home);
    }
  }
  for (std::size_t way = 0; way < course.ways.size(); ++way) {
    std::size_t reads = way;
    while (course.turn[reads] == Course::kNoTurn) ++reads;
    for (const Home& home : homes.of_layout[way]) {
      if (home.where == Where::kStaging) homes.blocks[home.block].read = course.turn[reads];
    }
  }
  return homes;
}

Bytes arrange(const std::vector<Block*>& blocks) {
  std::vector<Block*> order = blocks;
  std::stable_sort(order.begin(), order.end(),
                   [](const Block* a, const Block* b) { return a->written < b->written; });
  Bytes all = 0;
  std::vector<const Block*> placed;
  for (Block* block : order) {
    // The first gap among those that live at the same time.
    std::vector<const Block*> alive;
    for (const Block* other : placed) {
      if (other->read >= block->written) alive.push_back(other);
    }
    std::sort(alive.begin(), alive.end(),
              [](const Block* a, const Block* b) { return a->offset < b->offset; });
    block->offset = 0;
    for (const Block* other : alive) {
      if (block->offset + block->bytes <= other->offset) break;
      const Bytes end = (other->offset + other->bytes + kHomeAlign - 1) / kHomeAlign * kHomeAlign;
      block->offset = std::max(block->offset, end);
    }
    all = std::max(all, block->offset + block->bytes);
    placed = std::move(alive);
    placed.push_back(block);
  }
  return all;
}

}  // namespace weft::reshard::execute
