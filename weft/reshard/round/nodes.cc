// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/round/nodes.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "weft/base/check.h"
#include "weft/reshard/round/joining.h"

namespace weft::reshard {
namespace {

/// By node: one device for each distinct part that its devices hold.
class Holders {
 public:
  Holders(const Layout& layout, const Meetings& meetings) {
    std::vector<std::pair<std::uint64_t, Device>> seen;  // by what they hold
    first_.push_back(0);
    for (std::int32_t node = 0; node < meetings.nodes(); ++node) {
      seen.clear();
      for (const Device device : meetings.devices_of(node)) {
        if (layout.holds(device)) seen.emplace_back(number_of(layout, device), device);
      }
      std::sort(seen.begin(), seen.end());
      for (std::size_t i = 0; i < seen.size(); ++i) {
        if (i == 0 || seen[i].first != seen[i - 1].first) list_.push_back(seen[i].second);
      }
      first_.push_back(list_.size());
    }
  }
  std::span<const Device> of(std::int32_t node) const {
    return {list_.data() + first_[node], list_.data() + first_[node + 1]};
  }

 private:
  /// Of the combination of group and slots; a grid has hardly more of them than devices.
  static std::uint64_t number_of(const Layout& layout, Device device) {
    auto number = static_cast<std::uint64_t>(layout.group[device]);
    for (const auto& cut : layout.cuts) {
      number = number * cut->slots.size() + static_cast<std::uint64_t>(cut->slot_of[device]);
    }
    return number;
  }

  std::vector<std::size_t> first_;  ///< of a node
  std::vector<Device> list_;
};

/// Whether the devices of every node hold all combinations of the pieces and groups they have.
bool are_grids(const Layout& layout, const Holders& holders, const Meetings& meetings) {
  std::vector<std::size_t> combinations(meetings.nodes(), 1);
  std::vector<std::int32_t> seen_in;  // by slot or group: the last node that had it
  const auto count = [&](std::size_t numbers, const auto& number_of) {
    seen_in.assign(numbers, -1);
    for (std::int32_t node = 0; node < meetings.nodes(); ++node) {
      std::size_t distinct = 0;
      for (const Device device : meetings.devices_of(node)) {
        const std::int32_t number = number_of(device);
        if (number < 0 || seen_in[number] == node) continue;
        seen_in[number] = node;
        ++distinct;
      }
      combinations[node] *= distinct;
    }
  };
  count(layout.groups, [&](Device device) { return layout.group[device]; });
  for (const auto& cut : layout.cuts) {
    count(cut->slots.size(), [&](Device device) {
      const std::int32_t slot = cut->slot_of[device];
      return cut->lengths[slot] > 0 ? slot : Layout::kAbsent;
    });
  }
  for (std::int32_t node = 0; node < meetings.nodes(); ++node) {
    if (combinations[node] != holders.of(node).size()) return false;
  }
  return !layout.cuts.empty();
}

/// Groups of summands that the devices of each node have, where that is the same number for every
/// group of `to` that they go into, and each device goes on with its own; else nullopt.
std::optional<std::vector<std::int64_t>> joined_in_nodes(const Layout& from, const Layout& to,
                                                         const Joining& joining,
                                                         const Meetings& meetings) {
  std::vector<std::int32_t> seen_in(from.groups, -1), led_in(to.groups, -1);
  std::vector<std::int64_t> counts(meetings.nodes(), 0);
  for (std::int32_t node = 0; node < meetings.nodes(); ++node) {
    std::int64_t before = 0, after = 0;
    for (const Device device : meetings.devices_of(node)) {
      const std::int32_t group = from.group[device], next = to.group[device];
      if (group == Layout::kAbsent) continue;
      if (next != Layout::kAbsent && joining.leads_to[group] != next) return std::nullopt;
      before += seen_in[group] != node ? 1 : 0;
      seen_in[group] = node;
      std::int32_t& led = led_in[joining.leads_to[group]];
      after += led != node ? 1 : 0;
      led = node;
    }
    if (after == 0) continue;
    if (before % after != 0) return std::nullopt;
    counts[node] = before / after;
  }
  return counts;
}

/// By device: elements that its node has of what it wants of each group, and all that it wants.
/// Where nodes are grids, both are products over dimensions.
struct Wishes {
  const std::int64_t *near, *wanted;
};
Wishes wishes(const Layout& from, const Layout& to, Meetings& meetings) {
  Product has, wants;
  for (std::size_t dim = 0; dim < to.cuts.size(); ++dim) {
    multiply(wants, *to.cuts[dim]);
    if (from.cuts[dim] == to.cuts[dim]) {
      multiply(has, *to.cuts[dim]);
    } else {
      has.multiply(meetings.in_nodes(from.cuts[dim], to.cuts[dim]).near);
    }
  }
  return {has.values(to.devices(), meetings.room()[0]),
          wants.values(to.devices(), meetings.room()[1])};
}

/// Without summands.
std::int64_t into_plain_grids(const Layout& from, const Layout& to, Meetings& meetings) {
  const auto [near, wanted] = wishes(from, to, meetings);
  std::int64_t most = 0;
  for (std::int32_t node = 0; node < meetings.nodes(); ++node) {
    std::int64_t into = 0;
    for (const Device device : meetings.devices_of(node)) {
      if (to.group[device] != Layout::kAbsent) into += wanted[device] - near[device];
    }
    most = std::max(most, into);
  }
  return most;
}

/// `groups`: see joined_in_nodes().
std::int64_t into_grids(const Layout& from, const Layout& to, const Joining& joining,
                        const std::vector<std::int64_t>& groups, Meetings& meetings) {
  const auto [near, wanted] = wishes(from, to, meetings);
  std::int64_t most = 0;
  for (std::int32_t node = 0; node < meetings.nodes(); ++node) {
    std::int64_t into = 0;
    for (const Device device : meetings.devices_of(node)) {
      if (to.group[device] == Layout::kAbsent) continue;
      into += wanted[device] * joining.joins[to.group[device]] - near[device] * groups[node];
    }
    most = std::max(most, into);
  }
  return most;
}

/// Holder by holder.
std::int64_t into_any(const Layout& from, const Layout& to, const Joining& joining,
                      const Holders& have, const Meetings& meetings) {
  std::vector<std::int64_t> into(meetings.nodes(), 0);
  for (Device device = 0; device < to.devices(); ++device) {
    if (!to.holds(device)) continue;
    const std::int32_t group = to.group[device], node = meetings.node_of()[device];
    into[node] += to.elements(device) * joining.joins[group];
    for (const Device holder : have.of(node)) {
      if (joining.leads_to[from.group[holder]] != group) continue;
      into[node] -= common_elements(from, holder, to, device);
    }
  }
  return *std::max_element(into.begin(), into.end());
}

/// Whether the devices of a node have all groups of summands among them.
bool has_all_groups(const Layout& layout, std::int32_t node, const Meetings& meetings) {
  if (layout.groups == 1) return true;
  std::vector<bool> has(layout.groups, false);
  for (const Device device : meetings.devices_of(node)) {
    if (layout.group[device] != Layout::kAbsent) has[layout.group[device]] = true;
  }
  return std::all_of(has.begin(), has.end(), [](bool there) { return there; });
}

std::int64_t lacked_by_grids(const Layout& from, const Layout& to, Meetings& meetings) {
  std::int64_t most = 0;
  Product wants, has;
  for (std::size_t dim = 0; dim < to.cuts.size(); ++dim) {
    wants.multiply(meetings.held_in_nodes(to.cuts[dim]));
    has.multiply(meetings.in_nodes(from.cuts[dim], to.cuts[dim]).both);
  }
  const std::int64_t* wanted = wants.values(meetings.nodes(), meetings.room()[0]);
  const std::int64_t* there = has.values(meetings.nodes(), meetings.room()[1]);
  for (std::int32_t node = 0; node < meetings.nodes(); ++node) {
    const bool counts = has_all_groups(from, node, meetings);
    most = std::max(most, wanted[node] - (counts ? there[node] : 0));
  }
  return most;
}

std::int64_t lacked_by_any(const Layout& from, const Layout& to, const Holders& have,
                           const Holders& want, const Meetings& meetings) {
  std::int64_t most = 0;
  std::vector<std::int64_t> covered(from.groups);
  for (std::int32_t node = 0; node < meetings.nodes(); ++node) {
    std::int64_t lacks = 0;
    for (const Device wanting : want.of(node)) {
      std::fill(covered.begin(), covered.end(), 0);
      for (const Device holder : have.of(node)) {
        covered[from.group[holder]] += common_elements(from, holder, to, wanting);
      }
      lacks += to.elements(wanting) - *std::min_element(covered.begin(), covered.end());
    }
    most = std::max(most, lacks);
  }
  return most;
}

}  // namespace

std::int64_t into_nodes(const Layout& from, const Layout& to, Meetings& meetings) {
  if (from.node_grid && from.groups == 1 && to.groups == 1) {
    return into_plain_grids(from, to, meetings);
  }
  const Joining joining(from, to);
  const auto of_grids = [&]() -> std::optional<std::int64_t> {
    const auto groups = joined_in_nodes(from, to, joining, meetings);
    if (!groups) return std::nullopt;
    return into_grids(from, to, joining, *groups, meetings);
  };
  if (from.node_grid) {
    if (const auto into = of_grids()) return *into;
  }
  const Holders have(from, meetings);
  if (!from.node_grid && are_grids(from, have, meetings)) {
    if (const auto into = of_grids()) return *into;
  }
  return into_any(from, to, joining, have, meetings);
}

std::int64_t node_lacks(const Layout& from, const Layout& to, Meetings& meetings) {
  // Parts that overlap without being equal would be counted twice: no bound is known then.
  if (meetings.node_of().empty() || to.partial() || !from.grid || !to.grid) return 0;
  WEFT_CHECK(from.further.empty() && to.further.empty());
  if (from.node_grid && to.node_grid) return lacked_by_grids(from, to, meetings);
  const Holders have(from, meetings), want(to, meetings);
  if (are_grids(from, have, meetings) && are_grids(to, want, meetings)) {
    return lacked_by_grids(from, to, meetings);
  }
  return lacked_by_any(from, to, have, want, meetings);
}

}  // namespace weft::reshard
