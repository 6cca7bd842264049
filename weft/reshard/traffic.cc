// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/traffic.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "weft/base/check.h"

namespace weft::reshard {
namespace {

/// Of a round that has been made, which is in the order of receivers, then senders.
Traffic measure(const Round& round, const std::vector<std::int32_t>& node_of) {
  Traffic sum;
  std::map<std::int32_t, std::int64_t> into_node;
  std::int64_t received = 0, peers = 0;  // of the receiver at hand
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

/// How groups of summands join.
struct Joining {
  std::vector<std::int32_t> leads_to;  ///< by group of `from`
  std::vector<std::int64_t> joins;     ///< by group of `to`: how many become one

  Joining(const Layout& from, const Layout& to)
      : leads_to(from.groups, Layout::kAbsent), joins(to.groups, 0) {
    for (std::size_t i = 0; i < from.group_of_summand.size(); ++i) {
      std::int32_t& group = leads_to[from.group_of_summand[i]];
      if (group == Layout::kAbsent) ++joins[to.group_of_summand[i]];
      group = to.group_of_summand[i];
    }
  }
};

/// A number a device, a product over dimensions. Most factors are the same for all devices: arrays
/// that divide evenly need no list.
class Product {
 public:
  Product(std::vector<std::int64_t>& room, Device devices) : list_(room), devices_(devices) {}

  void multiply(std::int64_t factor) { shared_ *= factor; }
  void multiply(const std::vector<std::int64_t>& by_device) {
    if (!listed_) {
      list_.assign(by_device.begin(), by_device.begin() + devices_);
      listed_ = true;
      return;
    }
    for (Device i = 0; i < devices_; ++i) list_[i] *= by_device[i];
  }
  void multiply(const std::vector<std::int64_t>& by_slot, const std::vector<std::int32_t>& slot) {
    if (!listed_) list_.assign(devices_, 1);
    listed_ = true;
    for (Device i = 0; i < devices_; ++i) list_[i] *= by_slot[slot[i]];
  }
  /// By device.
  const std::int64_t* values() {
    if (!listed_) {
      list_.assign(devices_, shared_);
    } else if (shared_ != 1) {
      for (std::int64_t& value : list_) value *= shared_;
    }
    return list_.data();
  }

 private:
  std::vector<std::int64_t>& list_;
  Device devices_;
  std::int64_t shared_ = 1;
  bool listed_ = false;
};

/// What comes into nodes from others: all that is wanted less what anybody in the node holds.
class NodeTraffic {
 public:
  NodeTraffic(const Layout& from, const Layout& to, Meetings& meetings, const Joining& joining)
      : from_(from), to_(to), meetings_(meetings), joining_(joining) {
    const std::vector<std::int32_t>& node_of = meetings.node_of();
    std::int32_t nodes = 0;
    for (const std::int32_t node : node_of) nodes = std::max(nodes, node + 1);
    distinct_.resize(nodes);
    into_.assign(nodes, 0);
    std::set<std::vector<std::int32_t>> seen;
    std::vector<std::int32_t> key;
    for (Device device = 0; device < from.devices(); ++device) {
      if (!from.holds(device)) continue;
      key = {node_of[device], from.group[device]};
      for (const auto& cut : from.cuts) key.push_back(cut->slot_of[device]);
      if (seen.insert(key).second) distinct_[node_of[device]].push_back(device);
    }
  }

  /// `wanted`: elements that the device shall have, times the groups to be joined.
  void add(Device device, std::int64_t wanted) {
    const std::int32_t node = meetings_.node_of()[device];
    std::int64_t near = 0;
    for (const Device holder : distinct_[node]) {
      if (joining_.leads_to[from_.group[holder]] == to_.group[device]) {
        near += common_elements(from_, holder, to_, device);
      }
    }
    into_[node] += wanted - near;
  }
  std::int64_t most() const { return *std::max_element(into_.begin(), into_.end()); }

 private:
  const Layout &from_, &to_;
  Meetings& meetings_;
  const Joining& joining_;
  std::vector<std::vector<Device>> distinct_;  ///< by node: one holder of each shard
  std::vector<std::int64_t> into_;
};

bool all_there(const Layout& layout) {
  std::int32_t any = 0;  // kAbsent is negative, all others are not
  for (const std::int32_t group : layout.group) any |= group;
  return any >= 0;
}

/// By device, what the overlaps of all these dimensions multiply to.
const std::int64_t* kept_of(const ShortList<const Overlap*, 4>& overlaps, Device devices,
                            std::vector<std::int64_t>& room) {
  const std::int64_t* product = overlaps.front()->common.data();
  if (overlaps.size() > 1) room.resize(devices);
  for (std::size_t i = 1; i < overlaps.size(); ++i) {
    const std::int64_t* common = overlaps[i]->common.data();
    for (Device device = 0; device < devices; ++device) {
      room[device] = product[device] * common[device];
    }
    product = room.data();
  }
  return product;
}

/// Where all devices want the same number of elements out of the same number of shards, without
/// summands: most rounds of a search. nullopt for others.
std::optional<Traffic> even_traffic(const Layout& from, const Layout& to, Meetings& meetings) {
  if (from.groups > 1 || to.groups > 1 || !meetings.node_of().empty()) return std::nullopt;
  if (!all_there(from) || !all_there(to)) return std::nullopt;
  std::int64_t wanted = 1, met = 1, same = 1;
  ShortList<const Overlap*, 4> others;  // of dimensions that are cut differently
  for (std::size_t dim = 0; dim < to.cuts.size(); ++dim) {
    const std::int64_t every = to.cuts[dim]->every;
    if (every < 0) return std::nullopt;
    wanted *= every;
    if (from.cuts[dim] == to.cuts[dim]) {
      same *= every;
      continue;
    }
    others.push_back(&meetings.overlap(from.cuts[dim], to.cuts[dim]));
    if (others.back()->every_met < 0) return std::nullopt;
    met *= others.back()->every_met;
  }
  // What a device keeps of those dimensions at least, and all together.
  const Device devices = to.devices();
  std::int64_t least = 1, sum = devices;
  if (!others.empty()) {
    const std::int64_t* kept = kept_of(others, devices, meetings.room()[0]);
    least = kept[0];
    sum = 0;
    for (Device device = 0; device < devices; ++device) {
      least = std::min(least, kept[device]);
      sum += kept[device];
    }
  }
  least *= same;
  if (least == wanted) return Traffic{};
  return Traffic{wanted - least, wanted * devices - sum * same, met - (least > 0 ? 1 : 0), 0};
}

/// Without summands and nodes, where all devices have a part. All numbers are by device: what it
/// keeps, wants, and from how many shards it comes.
Traffic plain_traffic(const std::int64_t* kept, const std::int64_t* wanted, const std::int64_t* met,
                      Device devices) {
  Traffic sum;
  for (Device device = 0; device < devices; ++device) {
    const std::int64_t received = wanted[device] - kept[device];
    const std::int64_t peers = met[device] - (kept[device] > 0 ? 1 : 0);
    sum.recv_total += received;
    sum.recv_max = std::max(sum.recv_max, received);
    sum.peers_max = std::max(sum.peers_max, received > 0 ? peers : 0);
  }
  return sum;
}

/// Likewise for all others; `met` are shards of one group.
Traffic summed_traffic(const Layout& from, const Layout& to, Meetings& meetings,
                       const std::int64_t* kept, const std::int64_t* wanted,
                       const std::int64_t* met) {
  const Joining joining(from, to);
  std::optional<NodeTraffic> nodes;
  if (!meetings.node_of().empty()) nodes.emplace(from, to, meetings, joining);
  Traffic sum;
  for (Device device = 0; device < to.devices(); ++device) {
    const std::int32_t group = to.group[device], before = from.group[device];
    const std::int64_t part = wanted[device];
    if (group == Layout::kAbsent || part == 0) continue;
    const bool has_own = before != Layout::kAbsent && joining.leads_to[before] == group;
    const std::int64_t own = has_own ? kept[device] : 0;
    const std::int64_t joins = joining.joins[group];
    const std::int64_t received = part * joins - own;
    if (received == 0) continue;
    sum.recv_total += received;
    sum.recv_max = std::max(sum.recv_max, received);
    sum.peers_max = std::max(sum.peers_max, met[device] * joins - (own > 0 ? 1 : 0));
    if (nodes) nodes->add(device, part * joins);
  }
  if (nodes) sum.node_recv_max = nodes->most();
  return sum;
}

}  // namespace

Traffic traffic(const Layout& from, const Layout& to, Meetings& meetings) {
  WEFT_CHECK(exchangeable(from, to));
  if (!from.further.empty() || !to.further.empty() || !from.grid) {
    return measure(exchange(from, to, meetings), meetings.node_of());
  }
  if (const auto even = even_traffic(from, to, meetings)) return *even;
  Meetings::Room& room = meetings.room();
  // What devices keep, want, and take from how many shards of one group.
  Product kept(room[0], to.devices()), wanted(room[1], to.devices()), met(room[2], to.devices());
  for (std::size_t dim = 0; dim < to.cuts.size(); ++dim) {
    const Cut& cut = *to.cuts[dim];
    const bool same = from.cuts[dim] == to.cuts[dim];
    if (cut.every >= 0) {
      wanted.multiply(cut.every);
      if (same) kept.multiply(cut.every);
    } else {
      wanted.multiply(cut.lengths, cut.slot_of);
      if (same) kept.multiply(cut.lengths, cut.slot_of);
    }
    if (same) continue;
    const Overlap& overlap = meetings.overlap(from.cuts[dim], to.cuts[dim]);
    kept.multiply(overlap.common);
    if (overlap.every_met >= 0) {
      met.multiply(overlap.every_met);
    } else {
      met.multiply(overlap.met, cut.slot_of);
    }
  }
  const bool alike = from.groups == 1 && to.groups == 1 && meetings.node_of().empty();
  if (alike && all_there(from) && all_there(to)) {
    return plain_traffic(kept.values(), wanted.values(), met.values(), to.devices());
  }
  return summed_traffic(from, to, meetings, kept.values(), wanted.values(), met.values());
}

}  // namespace weft::reshard
