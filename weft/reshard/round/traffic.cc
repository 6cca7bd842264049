// SPDX-License-Identifier: Apache-2.0
// Counts the traffic of a round without listing transfers. If `from` is a grid, each combination of
// slots is held by some device. Then three numbers of a device are products over dimensions:
//   * the elements that it wants: the product of the lengths of its pieces in `to`;
//   * the elements that it keeps: the product of the lengths that its piece in `from` and its piece
//     in `to` have in common;
//   * the shards that the wanted elements come from: the product of the numbers of slots of `from`
//     that its pieces in `to` overlap.
// A device receives from one sender per shard. If it keeps something, one of these shards is its
// own and needs no sender. With summands, the device wants `merged_count` groups of each element.
//
// There are three loops: one for rounds in which all devices have the same numbers, one for layouts
// without summands, and one for all other rounds.
#include "weft/reshard/round/traffic.h"

#include <algorithm>
#include <map>
#include <optional>

#include "weft/base/check.h"
#include "weft/reshard/round/group_merge.h"
#include "weft/reshard/round/nodes.h"

namespace weft::reshard {
namespace {

/// The traffic of a list of transfers, which is sorted by receiver and then by sender.
Traffic measure(const Round& round, const std::vector<std::int32_t>& node_of) {
  Traffic sum;
  std::map<std::int32_t, std::int64_t> into_node;
  std::int64_t received = 0, peers = 0;  // of the current receiver
  for (std::size_t i = 0; i < round.size(); ++i) {
    const Round::Ends &ends = round.ends(i), &before = round.ends(i == 0 ? 0 : i - 1);
    const bool fresh = i == 0 || before.to != ends.to;
    if (fresh) received = peers = 0;
    peers += fresh || before.from != ends.from ? 1 : 0;
    const std::int64_t elements = volume(round.box(i));
    received += elements;
    sum.recv_total += elements;
    sum.recv_max = std::max(sum.recv_max, received);
    sum.peers_max = std::max(sum.peers_max, peers);
    if (node_of.empty() || node_of[ends.from] == node_of[ends.to]) continue;
    std::int64_t& into = into_node[node_of[ends.to]];
    into += elements;
    sum.node_recv_max = std::max(sum.node_recv_max, into);
  }
  return sum;
}

/// Whether every device has a part.
bool all_present(const Layout& layout) {
  std::int32_t any = 0;  // only kAbsent is negative
  for (const std::int32_t group : layout.group) any |= group;
  return any >= 0;
}

/// The traffic if there are no summands and all devices want the same number of elements from the
/// same number of shards; nullopt otherwise. Most rounds of a search are like this. They need only
/// one pass over the devices, to count what each device keeps.
std::optional<Traffic> even_traffic(const Layout& from, const Layout& to, OverlapCache& overlaps,
                                    std::vector<std::int64_t>* received) {
  if (from.groups > 1 || to.groups > 1) return std::nullopt;
  if (!all_present(from) || !all_present(to)) return std::nullopt;
  std::int64_t wanted = 1, shards = 1, same = 1;
  Product others;  // per device: product of the kept lengths of the dimensions whose cut changes
  bool differ = false;
  for (std::size_t dim = 0; dim < to.cuts.size(); ++dim) {
    const std::int64_t every = to.cuts[dim]->uniform_length;
    if (every < 0) return std::nullopt;
    wanted *= every;
    if (from.cuts[dim] == to.cuts[dim]) {
      same *= every;
      continue;
    }
    const Overlap& overlap = overlaps.overlap(from.cuts[dim], to.cuts[dim]);
    if (overlap.uniform_count < 0) return std::nullopt;
    shards *= overlap.uniform_count;
    others.multiply(overlap.common);
    differ = true;
  }
  // The device that keeps the least receives the most.
  const Device devices = to.devices();
  std::int64_t least = 1, sum = devices;
  if (differ) {
    const std::int64_t* kept = others.values(devices, overlaps.scratch()[0]);
    least = kept[0];
    sum = 0;
    for (Device device = 0; device < devices; ++device) {
      least = std::min(least, kept[device]);
      sum += kept[device];
    }
  }
  if (received != nullptr) {
    const std::int64_t* kept = others.values(devices, overlaps.scratch()[0]);
    for (Device device = 0; device < devices; ++device) {
      (*received)[device] = wanted - kept[device] * same;
    }
  }
  least *= same;
  if (least == wanted) return Traffic{};
  return Traffic{wanted - least, wanted * devices - sum * same, shards - (least > 0 ? 1 : 0), 0};
}

/// The traffic if there are no summands and all devices have a part. The lists are indexed by
/// device: elements kept, elements wanted, and the number of shards that the wanted elements come
/// from.
Traffic plain_traffic(const std::int64_t* kept, const std::int64_t* wanted,
                      const std::int64_t* shards, Device devices,
                      std::vector<std::int64_t>* received_by) {
  Traffic sum;
  for (Device device = 0; device < devices; ++device) {
    const std::int64_t received = wanted[device] - kept[device];
    const std::int64_t peers = shards[device] - (kept[device] > 0 ? 1 : 0);
    if (received_by != nullptr) (*received_by)[device] = received;
    sum.recv_total += received;
    sum.recv_max = std::max(sum.recv_max, received);
    sum.peers_max = std::max(sum.peers_max, received > 0 ? peers : 0);
  }
  return sum;
}

/// The traffic of a round between any two layouts, summed over the devices. `shards` counts the
/// shards of one group only.
Traffic summed_traffic(const Layout& from, const Layout& to, const std::int64_t* kept,
                       const std::int64_t* wanted, const std::int64_t* shards,
                       std::vector<std::int64_t>* received_by) {
  const GroupMerge merge(from, to);
  Traffic sum;
  for (Device device = 0; device < to.devices(); ++device) {
    const std::int32_t group = to.group[device], before = from.group[device];
    const std::int64_t part = wanted[device];
    if (group == Layout::kAbsent || part == 0) continue;
    const bool has_own = before != Layout::kAbsent && merge.merged_group[before] == group;
    const std::int64_t own = has_own ? kept[device] : 0;
    const std::int64_t merged_count = merge.merged_count[group];
    const std::int64_t received = part * merged_count - own;
    if (received == 0) continue;
    if (received_by != nullptr) (*received_by)[device] = received;
    sum.recv_total += received;
    sum.recv_max = std::max(sum.recv_max, received);
    sum.peers_max = std::max(sum.peers_max, shards[device] * merged_count - (own > 0 ? 1 : 0));
  }
  return sum;
}

/// The traffic if `from` is a grid and both layouts have one part per device; without
/// node_recv_max.
Traffic traffic_of_devices(const Layout& from, const Layout& to, OverlapCache& overlaps,
                           std::vector<std::int64_t>* received) {
  if (const auto even = even_traffic(from, to, overlaps, received)) return *even;
  // Indexed by device: elements kept, elements wanted, and the number of shards of one group that
  // the wanted elements come from.
  Product keep, want, meet;
  for (std::size_t dim = 0; dim < to.cuts.size(); ++dim) {
    multiply(want, *to.cuts[dim]);
    if (from.cuts[dim] == to.cuts[dim]) {
      multiply(keep, *to.cuts[dim]);
      continue;
    }
    const Overlap& overlap = overlaps.overlap(from.cuts[dim], to.cuts[dim]);
    keep.multiply(overlap.common);
    if (overlap.uniform_count >= 0) {
      meet.multiply(overlap.uniform_count);
    } else {
      meet.multiply(overlap.count_of);
    }
  }
  OverlapCache::Scratch& scratch = overlaps.scratch();
  const Device devices = to.devices();
  const std::int64_t* kept = keep.values(devices, scratch[0]);
  const std::int64_t* wanted = want.values(devices, scratch[1]);
  const std::int64_t* shards = meet.values(devices, scratch[2]);
  const bool plain = from.groups == 1 && to.groups == 1 && all_present(from) && all_present(to);
  return plain ? plain_traffic(kept, wanted, shards, devices, received)
               : summed_traffic(from, to, kept, wanted, shards, received);
}

}  // namespace

Traffic traffic(const Layout& from, const Layout& to, OverlapCache& overlaps,
                std::vector<std::int64_t>* received) {
  WEFT_CHECK(exchangeable(from, to));
  if (!from.further.empty() || !to.further.empty() || !from.grid) {
    if (received != nullptr) *received = reshard::received(from, to);
    return measure(exchange(from, to, overlaps), overlaps.node_of());
  }
  if (received != nullptr) received->assign(to.devices(), 0);
  Traffic sum = traffic_of_devices(from, to, overlaps, received);
  if (sum.recv_max > 0 && !overlaps.node_of().empty()) {
    sum.node_recv_max = node_inflow_max(from, to, overlaps);
  }
  return sum;
}

}  // namespace weft::reshard
