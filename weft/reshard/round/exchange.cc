// SPDX-License-Identifier: Apache-2.0
// Computes the pieces of an exchange, and who sends them. pieces() works shard by shard. A shard is
// a distinct part of the old layout together with all devices that hold it.
//   1. Find the shards that overlap each part of the new layout: for each dimension, find the slots
//      that overlap, and then look up every combination of these slots. Record the receiver in each
//      shard that is found.
//   2. For every shard, distribute its receivers over its holders.
//   3. Sort by parts.
// pieces_of() does the same, but only for the shards that one device holds or needs. All devices
// must choose the same senders. So if such a shard has several holders, pieces_of() must find all
// receivers of the shard.
#include "weft/reshard/round/exchange.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <set>

#include "weft/base/check.h"
#include "weft/reshard/round/group_merge.h"
#include "weft/reshard/round/shards.h"

namespace weft::reshard {
namespace {

/// Indexed by group of `to`: the groups of `from` that are merged into it. Each list is sorted for
/// binary search, because there may be as many groups as devices.
std::vector<std::vector<std::int32_t>> source_groups_of(const Layout& from, const Layout& to) {
  std::vector<std::vector<std::int32_t>> groups(to.groups);
  for (std::size_t i = 0; i < from.group_of_summand.size(); ++i) {
    groups[to.group_of_summand[i]].push_back(from.group_of_summand[i]);
  }
  for (std::vector<std::int32_t>& list : groups) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  }
  return groups;
}

bool contains(const std::vector<std::int32_t>& sorted, std::int32_t item) {
  return std::binary_search(sorted.begin(), sorted.end(), item);
}

/// Indexed by device: all parts of the device. Needed only if some device has several parts.
std::vector<std::vector<Part>> parts_of_devices(const Layout& layout) {
  std::vector<std::vector<Part>> parts(layout.devices());
  for (Part part = 0; part < layout.parts(); ++part) {
    if (layout.group[part] != Layout::kAbsent) parts[layout.device_of(part)].push_back(part);
  }
  return parts;
}

/// For each dimension, the result of OverlapCache::overlapping_slots().
using OverlappingSlots = std::vector<const OverlapCache::Slots*>;

OverlappingSlots overlapping_slots(const Layout& from, const Layout& to, OverlapCache& overlaps) {
  OverlappingSlots overlapping;
  for (std::size_t i = 0; i < from.cuts.size(); ++i) {
    overlapping.push_back(&overlaps.overlapping_slots(from.cuts[i], to.cuts[i]));
  }
  return overlapping;
}

/// Calls take(key) for every combination of slots that overlaps `part` of `to`. In a layout that is
/// not a grid, there may be combinations that no device holds.
template <class Take>
void for_each_shard(const OverlappingSlots& overlapping, const Layout& to, Part part,
                    std::int32_t group, const Take& take) {
  const std::size_t dims = overlapping.size();
  std::vector<const std::vector<std::int32_t>*> slots(dims);
  for (std::size_t i = 0; i < dims; ++i) {
    slots[i] = &(*overlapping[i])[to.cuts[i]->slot_of[part]];
    if (slots[i]->empty()) return;
  }
  std::vector<std::size_t> at(dims, 0);
  ShardKey key(dims + 1);
  key[0] = group;
  for (;;) {
    for (std::size_t i = 0; i < dims; ++i) key[i + 1] = (*slots[i])[at[i]];
    take(key);
    std::size_t dim = dims;
    while (dim > 0 && ++at[dim - 1] == slots[dim - 1]->size()) at[--dim] = 0;
    if (dim == 0) return;
  }
}

/// Assigns the receivers of a shard to its holders. Receivers are assigned in order of size, the
/// largest piece first. Each receiver gets the holder that has the least to send
/// (longest-processing-time-first scheduling). Holders on the receiver's node are preferred. With
/// one part per device, everything a device sends comes from one shard. So balancing each shard
/// balances all devices.
std::vector<Device> senders(const Shard& shard, const Layout& to,
                            const std::vector<std::int32_t>& node_of) {
  if (shard.holders.size() == 1)
    return std::vector<Device>(shard.receivers.size(), shard.holders[0]);
  std::vector<std::size_t> order(shard.receivers.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return shard.receivers[a].elements > shard.receivers[b].elements;
  });
  std::vector<Device> sender(shard.receivers.size());
  if (node_of.empty()) {
    // A heap of (load, holder). If loads are equal, the first holder is chosen, so that all devices
    // choose the same one.
    using Load = std::pair<std::int64_t, std::size_t>;
    std::priority_queue<Load, std::vector<Load>, std::greater<>> loads;
    for (std::size_t holder = 0; holder < shard.holders.size(); ++holder) loads.push({0, holder});
    for (const std::size_t i : order) {
      const auto [load, holder] = loads.top();
      loads.pop();
      loads.push({load + shard.receivers[i].elements, holder});
      sender[i] = shard.holders[holder];
    }
    return sender;
  }
  std::vector<std::int64_t> load(shard.holders.size(), 0);
  for (const std::size_t i : order) {
    const Device receiver = to.device_of(shard.receivers[i].part);
    // Any holder on the receiver's node comes before all holders on other nodes.
    const auto cost = [&](std::size_t holder) {
      const bool far = node_of[shard.holders[holder]] != node_of[receiver];
      return std::pair{far, load[holder]};
    };
    std::size_t least = 0;
    for (std::size_t holder = 1; holder < load.size(); ++holder) {
      if (cost(holder) < cost(least)) least = holder;
    }
    load[least] += shard.receivers[i].elements;
    sender[i] = shard.holders[least];
  }
  return sender;
}

/// Records in the shard that `part` of the new layout needs a piece of the shard. Does nothing if
/// the device of this part holds the shard itself.
void add_receiver(const Layout& from, const Layout& to,
                  const std::vector<std::vector<std::int32_t>>& source_groups, Part part,
                  Shard& shard) {
  const Device device = to.device_of(part);
  if (std::binary_search(shard.holders.begin(), shard.holders.end(), device)) return;
  const std::vector<std::int32_t>& needed = source_groups[to.group[part]];
  const bool has_own = contains(needed, from.group[device]);
  // Exactly one of the groups is stored, and the other groups are added to it.
  const std::int32_t base = has_own ? from.group[device] : needed.front();
  const std::int64_t elements = common_elements(from, shard.part, to, part);
  shard.receivers.push_back({elements, part, from.group[shard.part] != base});
}

/// Records the receivers of every shard.
void collect_receivers(const Layout& from, const Layout& to, OverlapCache& overlaps,
                       Shards& shards) {
  const auto source_groups = source_groups_of(from, to);
  const OverlappingSlots overlapping = overlapping_slots(from, to, overlaps);
  for (Part part = 0; part < to.parts(); ++part) {
    if (!to.holds(part)) continue;
    for (const std::int32_t group : source_groups[to.group[part]]) {
      for_each_shard(overlapping, to, part, group, [&](const ShardKey& key) {
        Shard* shard = shards.find(key);
        if (shard != nullptr) add_receiver(from, to, source_groups, part, *shard);
      });
    }
  }
}

bool by_parts(const Piece& a, const Piece& b) {
  return a.to_part != b.to_part ? a.to_part < b.to_part : a.from_part < b.from_part;
}

/// A stable counting sort by number(piece), which is below `count`. It takes linear time, because a
/// round may have millions of pieces.
template <class Number>
std::vector<Piece> sorted_by(const Number& number, std::size_t count, std::vector<Piece> list) {
  std::vector<std::size_t> first(count + 1, 0);
  bool sorted = true;
  for (std::size_t i = 0; i < list.size(); ++i) {
    ++first[number(list[i]) + 1];
    sorted = sorted && (i == 0 || number(list[i - 1]) <= number(list[i]));
  }
  if (sorted) return list;
  for (std::size_t i = 0; i < count; ++i) first[i + 1] += first[i];
  std::vector<Piece> ordered(list.size());
  for (const Piece& piece : list) ordered[first[number(piece)]++] = piece;
  return ordered;
}

}  // namespace

bool exchangeable(const Layout& from, const Layout& to) {
  if (from.group_of_summand.size() != to.group_of_summand.size()) return false;
  if (to.groups == 1) return true;
  std::vector<std::int32_t> merged_group(from.groups, Layout::kAbsent);
  for (std::size_t i = 0; i < from.group_of_summand.size(); ++i) {
    std::int32_t& group = merged_group[from.group_of_summand[i]];
    if (group != Layout::kAbsent && group != to.group_of_summand[i]) return false;
    group = to.group_of_summand[i];
  }
  return true;
}

std::vector<std::int64_t> kept(const Layout& from, const Layout& to) {
  std::vector<std::int64_t> own(to.devices(), 0);
  const auto source_groups = source_groups_of(from, to);
  const auto further =
      from.further.empty() ? std::vector<std::vector<Part>>{} : parts_of_devices(from);
  for (Part part = 0; part < to.parts(); ++part) {
    const Device device = to.device_of(part);
    if (to.group[part] == Layout::kAbsent || from.group[device] == Layout::kAbsent) continue;
    if (!contains(source_groups[to.group[part]], from.group[device])) continue;
    if (further.empty()) {
      own[device] += common_elements(from, device, to, part);
    } else {
      for (const Part mine : further[device]) own[device] += common_elements(from, mine, to, part);
    }
  }
  return own;
}

std::vector<std::int64_t> received(const Layout& from, const Layout& to) {
  std::vector<std::int64_t> elements(to.devices(), 0);
  const auto source_groups = source_groups_of(from, to);
  for (Part part = 0; part < to.parts(); ++part) {
    if (to.group[part] == Layout::kAbsent) continue;
    elements[to.device_of(part)] +=
        to.elements(part) * static_cast<std::int64_t>(source_groups[to.group[part]].size());
  }
  const std::vector<std::int64_t> own = kept(from, to);
  for (std::size_t device = 0; device < own.size(); ++device) elements[device] -= own[device];
  return elements;
}

std::vector<Piece> pieces(const Layout& from, const Layout& to, OverlapCache& overlaps) {
  WEFT_CHECK(exchangeable(from, to));
  Shards shards(from);
  collect_receivers(from, to, overlaps, shards);
  std::size_t count = 0;
  for (const Shard& shard : shards.list()) count += shard.receivers.size();
  std::vector<Piece> all;
  all.reserve(count);
  for (Shard& shard : shards.list()) {
    const std::vector<Device> sender = senders(shard, to, overlaps.node_of());
    for (std::size_t i = 0; i < sender.size(); ++i) {
      const Shard::Receiver& receiver = shard.receivers[i];
      all.push_back(
          {sender[i], to.device_of(receiver.part), shard.part, receiver.part, receiver.add});
    }
    shard.receivers = {};
  }
  // Shards are listed in the order of from_part, and the sort is stable.
  return sorted_by([](const Piece& piece) { return piece.to_part; }, to.parts(), std::move(all));
}

std::vector<Piece> pieces_of(Device self, const Layout& from, const Layout& to,
                             OverlapCache& overlaps) {
  WEFT_CHECK(exchangeable(from, to));
  Shards shards(from);
  const auto source_groups = source_groups_of(from, to);
  const OverlappingSlots overlapping = overlapping_slots(from, to, overlaps);
  const OverlappingSlots overlapping_back = overlapping_slots(to, from, overlaps);
  // Looks up parts of the new layout by group and slots. They are the receivers of a shard.
  Shards wanted(to);
  const GroupMerge merge(from, to);
  std::vector<Piece> own;
  const auto collect_own = [&](Shard& shard) {
    for_each_shard(overlapping_back, from, shard.part, merge.merged_group[from.group[shard.part]],
                   [&](const ShardKey& key) {
                     if (Shard* found = wanted.find(key)) {
                       for (const Part part : found->parts) {
                         add_receiver(from, to, source_groups, part, shard);
                       }
                     }
                   });
    std::sort(shard.receivers.begin(), shard.receivers.end(),
              [](const auto& a, const auto& b) { return a.part < b.part; });
    const std::vector<Device> sender = senders(shard, to, overlaps.node_of());
    for (std::size_t i = 0; i < sender.size(); ++i) {
      const Shard::Receiver& receiver = shard.receivers[i];
      const Device device = to.device_of(receiver.part);
      if (sender[i] != self && device != self) continue;
      own.push_back({sender[i], device, shard.part, receiver.part, receiver.add});
    }
    shard.receivers.clear();
  };
  std::set<const Shard*> visited;
  for (Shard& shard : shards.list()) {
    if (!std::binary_search(shard.holders.begin(), shard.holders.end(), self)) continue;
    collect_own(shard);
    visited.insert(&shard);
  }
  for (Part part = 0; part < to.parts(); ++part) {
    if (to.device_of(part) != self || !to.holds(part)) continue;
    for (const std::int32_t group : source_groups[to.group[part]]) {
      for_each_shard(overlapping, to, part, group, [&](const ShardKey& key) {
        Shard* shard = shards.find(key);
        if (shard == nullptr || visited.count(shard) != 0) return;
        if (shard->holders.size() > 1) {
          collect_own(*shard);
          visited.insert(shard);
          return;
        }
        // The only holder is the sender, so the other receivers do not matter.
        add_receiver(from, to, source_groups, part, *shard);
        const Shard::Receiver& receiver = shard->receivers.back();
        own.push_back({shard->holders[0], self, shard->part, part, receiver.add});
        shard->receivers.clear();
      });
    }
  }
  std::sort(own.begin(), own.end(), by_parts);
  return own;
}

Round exchange(const Layout& from, const Layout& to, OverlapCache& overlaps) {
  std::vector<Piece> all = pieces(from, to, overlaps);
  all = sorted_by([](const Piece& piece) { return piece.from; }, to.devices(), std::move(all));
  all = sorted_by([](const Piece& piece) { return piece.to; }, to.devices(), std::move(all));
  Round round;
  round.reserve(all.size(), from.cuts.size());
  std::vector<Strips> shared(from.cuts.size());
  for (const Piece& piece : all) {
    for (std::size_t dim = 0; dim < from.cuts.size(); ++dim) {
      shared[dim] =
          intersect(from.cuts[dim]->piece(piece.from_part), to.cuts[dim]->piece(piece.to_part));
    }
    for_each_box(shared, [&](const Box& box) {
      round.push_back(piece.from, piece.to, {box.begin(), box.end()}, piece.add);
    });
  }
  return round;
}

}  // namespace weft::reshard
