// SPDX-License-Identifier: Apache-2.0
// Computes the traffic between nodes. Both functions of nodes.h need one number per node: how much
// of some region its devices hold together. A node is a grid if its devices hold every combination
// of the pieces and groups that occur in it. This is so if the devices of a node differ in whole
// digits of the mesh. Then the union of what they hold is the product of the unions per dimension,
// and counts are products of numbers from OverlapCache. Other nodes, such as nodes of 3 devices on
// a mesh of 64, are counted device by device.
#include "weft/reshard/round/nodes.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "weft/base/check.h"
#include "weft/reshard/round/group_merge.h"

namespace weft::reshard {
namespace {

/// Indexed by node: one device for each distinct part that the node's devices hold.
class Holders {
 public:
  Holders(const Layout& layout, const OverlapCache& overlaps) {
    std::vector<std::pair<std::uint64_t, Device>> seen;  // (number of the part, device)
    first_.push_back(0);
    for (std::int32_t node = 0; node < overlaps.nodes(); ++node) {
      seen.clear();
      for (const Device device : overlaps.devices_of(node)) {
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
  /// The number of a combination of group and slots. It cannot overflow, because a grid has hardly
  /// more combinations than devices.
  static std::uint64_t number_of(const Layout& layout, Device device) {
    auto number = static_cast<std::uint64_t>(layout.group[device]);
    for (const auto& cut : layout.cuts) {
      number = number * cut->slots.size() + static_cast<std::uint64_t>(cut->slot_of[device]);
    }
    return number;
  }

  std::vector<std::size_t> first_;  ///< indexed by node: where its devices begin in list_
  std::vector<Device> list_;
};

/// Whether every node is a grid: counts the distinct pieces per dimension and the distinct groups
/// in each node, and compares the product of these counts with the number of distinct parts in the
/// node.
bool are_grids(const Layout& layout, const Holders& holders, const OverlapCache& overlaps) {
  std::vector<std::size_t> combinations(overlaps.nodes(), 1);
  std::vector<std::int32_t> seen_in;  // indexed by slot or group: the last node that held it
  const auto count = [&](std::size_t numbers, const auto& number_of) {
    seen_in.assign(numbers, -1);
    for (std::int32_t node = 0; node < overlaps.nodes(); ++node) {
      std::size_t distinct = 0;
      for (const Device device : overlaps.devices_of(node)) {
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
  for (std::int32_t node = 0; node < overlaps.nodes(); ++node) {
    if (combinations[node] != holders.of(node).size()) return false;
  }
  return !layout.cuts.empty();
}

/// Indexed by node: how many groups of `from` its devices hold for each group of `to`. nullopt if
/// this number differs between groups of `to`, or if a device's group is not merged into the group
/// that the device has in `to`. In these two cases, counts are not products.
std::optional<std::vector<std::int64_t>> merged_groups_per_node(const Layout& from,
                                                                const Layout& to,
                                                                const GroupMerge& merge,
                                                                const OverlapCache& overlaps) {
  std::vector<std::int32_t> seen_in(from.groups, -1), merged_seen_in(to.groups, -1);
  std::vector<std::int64_t> counts(overlaps.nodes(), 0);
  for (std::int32_t node = 0; node < overlaps.nodes(); ++node) {
    std::int64_t before = 0, after = 0;
    for (const Device device : overlaps.devices_of(node)) {
      const std::int32_t group = from.group[device], next = to.group[device];
      if (group == Layout::kAbsent) continue;
      if (next != Layout::kAbsent && merge.merged_group[group] != next) return std::nullopt;
      before += seen_in[group] != node ? 1 : 0;
      seen_in[group] = node;
      std::int32_t& merged_seen = merged_seen_in[merge.merged_group[group]];
      after += merged_seen != node ? 1 : 0;
      merged_seen = node;
    }
    if (after == 0) continue;
    if (before % after != 0) return std::nullopt;
    counts[node] = before / after;
  }
  return counts;
}

/// Two lists, indexed by device. `wanted`: how many elements the device wants in `to`. `near`: how
/// many of these elements some device of its node holds, counted for one group of summands. Only
/// for nodes that are grids: for other nodes, these numbers are not products over dimensions.
struct NodeDemand {
  const std::int64_t *near, *wanted;
};
NodeDemand node_demand(const Layout& from, const Layout& to, OverlapCache& overlaps) {
  Product has, wants;
  for (std::size_t dim = 0; dim < to.cuts.size(); ++dim) {
    multiply(wants, *to.cuts[dim]);
    if (from.cuts[dim] == to.cuts[dim]) {
      multiply(has, *to.cuts[dim]);
    } else {
      has.multiply(overlaps.overlap_in_nodes(from.cuts[dim], to.cuts[dim]).near);
    }
  }
  return {has.values(to.devices(), overlaps.scratch()[0]),
          wants.values(to.devices(), overlaps.scratch()[1])};
}

/// node_inflow_max() if nodes are grids and neither layout is partial.
std::int64_t inflow_without_summands(const Layout& from, const Layout& to, OverlapCache& overlaps) {
  const auto [near, wanted] = node_demand(from, to, overlaps);
  std::int64_t most = 0;
  for (std::int32_t node = 0; node < overlaps.nodes(); ++node) {
    std::int64_t into = 0;
    for (const Device device : overlaps.devices_of(node)) {
      if (to.group[device] != Layout::kAbsent) into += wanted[device] - near[device];
    }
    most = std::max(most, into);
  }
  return most;
}

/// node_inflow_max() for nodes that are grids. A device wants every group that is merged into its
/// own group of `to`. `groups` says how many of these groups its node supplies, see
/// merged_groups_per_node().
std::int64_t inflow_of_grids(const Layout& from, const Layout& to, const GroupMerge& merge,
                             const std::vector<std::int64_t>& groups, OverlapCache& overlaps) {
  const auto [near, wanted] = node_demand(from, to, overlaps);
  std::int64_t most = 0;
  for (std::int32_t node = 0; node < overlaps.nodes(); ++node) {
    std::int64_t into = 0;
    for (const Device device : overlaps.devices_of(node)) {
      if (to.group[device] == Layout::kAbsent) continue;
      into += wanted[device] * merge.merged_count[to.group[device]] - near[device] * groups[node];
    }
    most = std::max(most, into);
  }
  return most;
}

/// node_inflow_max() for any nodes: compares each device with every distinct part of its node.
std::int64_t inflow_by_holders(const Layout& from, const Layout& to, const GroupMerge& merge,
                               const Holders& have, const OverlapCache& overlaps) {
  std::vector<std::int64_t> into(overlaps.nodes(), 0);
  for (Device device = 0; device < to.devices(); ++device) {
    if (!to.holds(device)) continue;
    const std::int32_t group = to.group[device], node = overlaps.node_of()[device];
    into[node] += to.elements(device) * merge.merged_count[group];
    for (const Device holder : have.of(node)) {
      if (merge.merged_group[from.group[holder]] != group) continue;
      into[node] -= common_elements(from, holder, to, device);
    }
  }
  return *std::max_element(into.begin(), into.end());
}

/// Whether the devices of a node together hold all groups of summands.
bool has_all_groups(const Layout& layout, std::int32_t node, const OverlapCache& overlaps) {
  if (layout.groups == 1) return true;
  std::vector<bool> has(layout.groups, false);
  for (const Device device : overlaps.devices_of(node)) {
    if (layout.group[device] != Layout::kAbsent) has[layout.group[device]] = true;
  }
  return std::all_of(has.begin(), has.end(), [](bool there) { return there; });
}

/// node_deficit_max() if nodes are grids in both layouts.
std::int64_t deficit_of_grids(const Layout& from, const Layout& to, OverlapCache& overlaps) {
  std::int64_t most = 0;
  Product wants, has;
  for (std::size_t dim = 0; dim < to.cuts.size(); ++dim) {
    wants.multiply(overlaps.held_in_nodes(to.cuts[dim]));
    has.multiply(overlaps.overlap_in_nodes(from.cuts[dim], to.cuts[dim]).both);
  }
  const std::int64_t* wanted = wants.values(overlaps.nodes(), overlaps.scratch()[0]);
  const std::int64_t* there = has.values(overlaps.nodes(), overlaps.scratch()[1]);
  for (std::int32_t node = 0; node < overlaps.nodes(); ++node) {
    const bool counts = has_all_groups(from, node, overlaps);
    most = std::max(most, wanted[node] - (counts ? there[node] : 0));
  }
  return most;
}

/// node_deficit_max() for any nodes. A node has an element only if its devices hold every group of
/// this element. So the function counts elements per group, and uses the group of which the devices
/// hold the fewest elements.
std::int64_t deficit_by_holders(const Layout& from, const Layout& to, const Holders& have,
                                const Holders& want, const OverlapCache& overlaps) {
  std::int64_t most = 0;
  std::vector<std::int64_t> covered(from.groups);
  for (std::int32_t node = 0; node < overlaps.nodes(); ++node) {
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

std::int64_t node_inflow_max(const Layout& from, const Layout& to, OverlapCache& overlaps) {
  if (from.node_grid && from.groups == 1 && to.groups == 1) {
    return inflow_without_summands(from, to, overlaps);
  }
  const GroupMerge merge(from, to);
  const auto of_grids = [&]() -> std::optional<std::int64_t> {
    const auto groups = merged_groups_per_node(from, to, merge, overlaps);
    if (!groups) return std::nullopt;
    return inflow_of_grids(from, to, merge, *groups, overlaps);
  };
  if (from.node_grid) {
    if (const auto into = of_grids()) return *into;
  }
  const Holders have(from, overlaps);
  if (!from.node_grid && are_grids(from, have, overlaps)) {
    if (const auto into = of_grids()) return *into;
  }
  return inflow_by_holders(from, to, merge, have, overlaps);
}

std::int64_t node_deficit_max(const Layout& from, const Layout& to, OverlapCache& overlaps) {
  // In a layout that is not a grid, parts may overlap without being equal. Common elements would be
  // counted twice, so no bound is known for such layouts.
  if (overlaps.node_of().empty() || to.partial() || !from.grid || !to.grid) return 0;
  WEFT_CHECK(from.further.empty() && to.further.empty());
  if (from.node_grid && to.node_grid) return deficit_of_grids(from, to, overlaps);
  const Holders have(from, overlaps), want(to, overlaps);
  if (are_grids(from, have, overlaps) && are_grids(to, want, overlaps)) {
    return deficit_of_grids(from, to, overlaps);
  }
  return deficit_by_holders(from, to, have, want, overlaps);
}

}  // namespace weft::reshard
