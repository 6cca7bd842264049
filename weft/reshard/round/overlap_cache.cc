// SPDX-License-Identifier: Apache-2.0
// Compares cuts in the cheapest way that their slots allow. If every slot is one strip, the overlap
// of a device's two pieces is one intersection. Then division (for equal tiles) or binary search
// finds the number of overlapping slots. Block-cyclic and strided cuts have many strips per slot.
// They are compared strip by strip. All results are remembered under the addresses of the two cuts.
#include "weft/reshard/round/overlap_cache.h"

#include <algorithm>

namespace weft::reshard {

OverlapCache::OverlapCache(std::vector<std::int32_t> node_of) : node_of_(std::move(node_of)) {
  // Counting sort of devices by node.
  std::int32_t nodes = 0;
  for (const std::int32_t node : node_of_) nodes = std::max(nodes, node + 1);
  first_of_node_.assign(nodes + 1, 0);
  for (const std::int32_t node : node_of_) ++first_of_node_[node];
  for (std::int32_t node = 0; node < nodes; ++node) {
    first_of_node_[node + 1] += first_of_node_[node];
  }
  by_node_.resize(node_of_.size());
  for (auto device = static_cast<Device>(node_of_.size()); device-- > 0;) {
    by_node_[--first_of_node_[node_of_[device]]] = device;
  }
}

const OverlapCache::NodeSlots& OverlapCache::node_slots(const CutPtr& cut) {
  const auto [found, fresh] = node_slots_.try_emplace(cut.get());
  NodeSlots& known = found->second;
  if (!fresh) return known;
  known.cut = cut;
  known.first.reserve(first_of_node_.size());
  known.held.assign(nodes(), 0);
  known.together.resize(nodes());
  seen_in_.assign(cut->slots.size(), -1);
  for (std::int32_t node = 0; node < nodes(); ++node) {
    known.first.push_back(static_cast<std::int32_t>(known.slots.size()));
    Strips& together = known.together[node];
    for (const Device device : devices_of(node)) {
      const std::int32_t slot = cut->slot_of[device];
      if (seen_in_[slot] == node || cut->lengths[slot] == 0) continue;
      seen_in_[slot] = node;
      known.slots.push_back(slot);
      known.held[node] += cut->lengths[slot];
      // Most strips start where the strip before ends. Joining such strips keeps the list short.
      for (const Interval& strip : cut->slots[slot]) {
        if (!together.empty() && together.back().high == strip.low) {
          together.back().high = strip.high;
        } else {
          together.push_back(strip);
        }
      }
    }
    if (together.size() > 1) together = strips_of(std::move(together));
  }
  known.first.push_back(static_cast<std::int32_t>(known.slots.size()));
  return known;
}

const NodeOverlap& OverlapCache::overlap_in_nodes(const CutPtr& from, const CutPtr& to) {
  const auto [found, fresh] = node_overlaps_.try_emplace({from.get(), to.get()});
  NodeOverlap& overlap = found->second;
  if (!fresh) return overlap;
  const NodeSlots &have = node_slots(from), &want = node_slots(to);
  overlap.near.assign(to->slot_of.size(), 0);
  overlap.both.assign(nodes(), 0);
  shared_.assign(to->slots.size(), {});
  for (std::int32_t node = 0; node < nodes(); ++node) {
    for (const std::int32_t wanted : want.of(node)) {
      shared_[wanted] = {node, common_length(have.together[node], to->slots[wanted])};
      overlap.both[node] += shared_[wanted].length;
    }
    for (const Device device : devices_of(node)) {
      const Shared& sum = shared_[to->slot_of[device]];
      if (sum.slot == node) overlap.near[device] = sum.length;
    }
  }
  return overlap;
}

const OverlapCache::Pieces& OverlapCache::pieces_of(const CutPtr& cut) {
  const auto [found, fresh] = pieces_.try_emplace(cut.get());
  Pieces& pieces = found->second;
  if (!fresh) return pieces;
  pieces.cut = cut;
  for (std::size_t slot = 0; slot < cut->slots.size(); ++slot) {
    for (const Interval& strip : cut->slots[slot]) {
      pieces.list.push_back({strip, static_cast<std::int32_t>(slot)});
    }
  }
  const auto lower = [](const Pieces::Piece& a, const Pieces::Piece& b) {
    return a.strip.low < b.strip.low;
  };
  if (!std::is_sorted(pieces.list.begin(), pieces.list.end(), lower)) {
    std::sort(pieces.list.begin(), pieces.list.end(), lower);
  }
  pieces.reach.reserve(pieces.list.size());
  for (const Pieces::Piece& piece : pieces.list) {
    pieces.reach.push_back(
        std::max(pieces.reach.empty() ? 0 : pieces.reach.back(), piece.strip.high));
  }
  return pieces;
}

template <class Take>
void OverlapCache::for_each_overlap(const Pieces& from, const Strips& slot, const Take& take) {
  for (const Interval& strip : slot) {
    auto first = static_cast<std::size_t>(
        std::upper_bound(from.reach.begin(), from.reach.end(), strip.low) - from.reach.begin());
    for (; first < from.list.size() && from.list[first].strip.low < strip.high; ++first) {
      const std::int64_t shared = intersect(from.list[first].strip, strip).length();
      if (shared > 0) take(from.list[first].slot, shared);
    }
  }
}

const OverlapCache::Slots& OverlapCache::overlapping_slots(const CutPtr& from, const CutPtr& to) {
  const auto [found, fresh] = slots_.try_emplace({from.get(), to.get()});
  if (!fresh) return found->second;
  const Pieces& pieces = pieces_of(from);
  pieces_of(to);  // keeps `to` alive too, because the key contains its address
  found->second.resize(to->slots.size());
  for (std::size_t slot = 0; slot < to->slots.size(); ++slot) {
    std::vector<std::int32_t>& list = found->second[slot];
    for_each_overlap(pieces, to->slots[slot],
                     [&](std::int32_t met, std::int64_t) { list.push_back(met); });
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  }
  return found->second;
}

void OverlapCache::compare_single_strips(const CutPtr& from, const Cut& to, Overlap& overlap) {
  const Pieces* pieces = from->tile > 0 ? nullptr : &pieces_of(from);
  for (std::size_t slot = 0; slot < to.slots.size(); ++slot) {
    if (to.slots[slot].empty()) continue;
    const Interval& strip = to.slots[slot].front();
    if (pieces == nullptr) {  // each slot of `from` starts at a multiple of from->tile
      counts_[slot] = (strip.high - 1) / from->tile - strip.low / from->tile + 1;
      continue;
    }
    // Slots of `from` before `first` end at or before the strip. The slot at `last` may still start
    // within the strip.
    const auto first = std::upper_bound(pieces->reach.begin(), pieces->reach.end(), strip.low);
    auto last = std::lower_bound(first, pieces->reach.end(), strip.high);
    const std::size_t next = last - pieces->reach.begin();
    if (next < pieces->list.size() && pieces->list[next].strip.low < strip.high) ++last;
    counts_[slot] = last - first;
  }
  for (std::size_t part = 0; part < to.slot_of.size(); ++part) {
    const Strips &has = from->slots[from->slot_of[part]], &wanted = to.slots[to.slot_of[part]];
    if (has.empty() || wanted.empty()) continue;
    overlap.common[part] = intersect(has.front(), wanted.front()).length();
  }
}

void OverlapCache::sweep_strips(const CutPtr& from, const Cut& to, Overlap& overlap) {
  const Pieces& pieces = pieces_of(from);
  const std::size_t slots = to.slots.size();
  // Counting sort of parts by slot: afterwards first_[slot] is where the parts of the slot begin.
  first_.assign(slots + 1, 0);
  order_.resize(to.slot_of.size());
  for (const std::int32_t slot : to.slot_of) ++first_[slot];
  for (std::size_t slot = 0; slot < slots; ++slot) first_[slot + 1] += first_[slot];
  for (std::size_t part = order_.size(); part-- > 0;) {
    order_[--first_[to.slot_of[part]]] = static_cast<std::int32_t>(part);
  }
  shared_.assign(from->slots.size(), {});
  for (std::size_t slot = 0; slot < slots; ++slot) {
    const auto number = static_cast<std::int32_t>(slot);
    for_each_overlap(pieces, to.slots[slot], [&](std::int32_t met, std::int64_t length) {
      Shared& sum = shared_[met];
      if (sum.slot != number) {
        sum = {number, 0};
        ++counts_[slot];
      }
      sum.length += length;
    });
    for (std::int32_t i = first_[slot]; i < first_[slot + 1]; ++i) {
      const Shared& sum = shared_[from->slot_of[order_[i]]];
      if (sum.slot == number) overlap.common[order_[i]] = sum.length;
    }
  }
}

const Overlap& OverlapCache::overlap(const CutPtr& from, const CutPtr& to) {
  const auto [found, fresh] = overlaps_.try_emplace({from.get(), to.get()});
  if (!fresh) return found->second.overlap;
  found->second.from = from;
  found->second.to = to;
  Overlap& overlap = found->second.overlap;
  counts_.assign(to->slots.size(), 0);
  overlap.common.assign(to->slot_of.size(), 0);
  if (from->single && to->single) {
    compare_single_strips(from, *to, overlap);
  } else {
    sweep_strips(from, *to, overlap);
  }
  const auto [least, most] = std::minmax_element(counts_.begin(), counts_.end());
  if (!counts_.empty() && *least == *most) {
    overlap.uniform_count = *least;
  } else {
    overlap.count_of.reserve(to->slot_of.size());
    for (const std::int32_t slot : to->slot_of) overlap.count_of.push_back(counts_[slot]);
  }
  return overlap;
}

}  // namespace weft::reshard
