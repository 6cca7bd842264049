// SPDX-License-Identifier: Apache-2.0
// ordered_groups() fixes the first device of a group and lets the group grow along the order. With
// each device, it updates the slowest link inside the group and the slowest link to each later
// position. So the time for a group is linear in the number of positions behind it, instead of
// quadratic in the number of its devices. For shared links, prefix counts tell how many devices of
// a range lie on each side.
//
// The formulas are the same as in group_cost() and channel_cost() in plan.cc.
#include "weft/pipeline/plan/groups.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>

#include "weft/pipeline/plan/cliques.h"

namespace weft::pipeline {
namespace {

constexpr double kUnreachable = std::numeric_limits<double>::infinity();

double group_per_byte(std::int64_t bandwidth) {
  return bandwidth > 0 ? 1e9 / static_cast<double>(bandwidth) : kUnreachable;
}

/// The memory of the device that has the least memory; 0 if no device has a limit.
Bytes group_memory(const Cluster& cluster, const std::vector<std::int32_t>& devices) {
  const Bytes smallest = smallest_memory(cluster, devices);
  return smallest == std::numeric_limits<Bytes>::max() ? 0 : smallest;
}

/// Prefix counts along an order of the devices: how many of the first i devices lie on each side of
/// a shared link.
struct SharedCounts {
  std::vector<double> one, other;
  double per_byte = 0;
};

std::vector<SharedCounts> shared_counts(const Cluster& cluster,
                                        const std::vector<std::int32_t>& order) {
  std::vector<SharedCounts> counts;
  std::vector<std::int32_t> place(cluster.devices);
  for (std::size_t i = 0; i < order.size(); ++i) place[order[i]] = static_cast<std::int32_t>(i);
  for (const SharedLink& link : cluster.shared) {
    SharedCounts sums{std::vector<double>(order.size() + 1, 0),
                      std::vector<double>(order.size() + 1, 0), group_per_byte(link.bandwidth)};
    for (const std::int32_t device : link.one) sums.one[place[device] + 1] = 1;
    for (const std::int32_t device : link.other) sums.other[place[device] + 1] = 1;
    std::partial_sum(sums.one.begin(), sums.one.end(), sums.one.begin());
    std::partial_sum(sums.other.begin(), sums.other.end(), sums.other.begin());
    counts.push_back(std::move(sums));
  }
  return counts;
}

/// Builds all groups of ordered_groups(). Groups with the same first device are built together,
/// from the smallest to the largest.
class OrderedBuilder {
 public:
  OrderedBuilder(const Cluster& cluster, const std::vector<std::int32_t>& order,
                 const GroupLimits& limits)
      : cluster_(cluster),
        order_(order),
        shared_(shared_counts(cluster, order)),
        count_(static_cast<std::int32_t>(order.size())),
        unit_(limits.unit) {
    largest_ = limits.replicas > 0 ? std::min(limits.replicas, count_) : count_;
    if (limits.sizes > 0) largest_ = std::min(largest_, limits.sizes * unit_);
    largest_ = std::max(largest_, std::min(unit_, count_));
  }

  GroupGraph build() {
    // The nodes come first, because edges refer to later nodes by number.
    for (std::int32_t begin = 0; begin < count_; begin += unit_) {
      first_of_.push_back(static_cast<std::int32_t>(graph_.size()));
      for (std::int32_t r = unit_; r <= largest_ && begin + r <= count_; r += unit_) {
        Group group;
        group.replicas = r;
        group.first = begin == 0;
        graph_.push_back(std::move(group));
      }
    }
    first_of_.push_back(static_cast<std::int32_t>(graph_.size()));
    for (std::int32_t begin = 0; begin + unit_ <= count_; begin += unit_) grow_from(begin);
    return std::move(graph_);
  }

 private:
  /// Fills in the groups that begin at a position. After each step the group covers the positions
  /// `begin` .. `end`, and forward_ and backward_ hold its slowest link to each later position.
  void grow_from(std::int32_t begin) {
    forward_.assign(count_, 0);
    backward_.assign(count_, 0);
    forward_latency_.assign(count_, 0);
    backward_latency_.assign(count_, 0);
    double inside = 0;
    Nanos inside_latency = 0;
    double slowest = kUnreachable;
    for (std::int32_t end = begin; end < begin + largest_ && end < count_; ++end) {
      for (std::int32_t i = begin; i < end; ++i) {
        inside = std::max({inside, backward_cost(end, i), forward_cost(end, i)});
        inside_latency = std::max({inside_latency, cluster_.latency_of(order_[end], order_[i]),
                                   cluster_.latency_of(order_[i], order_[end])});
      }
      slowest = std::min(slowest, cluster_.speed[order_[end]]);
      for (std::int32_t x = end + 1; x < std::min(count_, begin + 2 * largest_); ++x) {
        forward_[x] = std::max(forward_[x], forward_cost(end, x));
        backward_[x] = std::max(backward_[x], backward_cost(end, x));
        forward_latency_[x] =
            std::max(forward_latency_[x], cluster_.latency_of(order_[end], order_[x]));
        backward_latency_[x] =
            std::max(backward_latency_[x], cluster_.latency_of(order_[x], order_[end]));
      }
      const std::int32_t r = end + 1 - begin;
      if (r % unit_ != 0) continue;
      Group& group = graph_[first_of_[begin / unit_] + r / unit_ - 1];
      group.devices.assign(order_.begin() + begin, order_.begin() + end + 1);
      std::sort(group.devices.begin(), group.devices.end());
      group.memory = group_memory(cluster_, group.devices);
      group.cost.work = 1 / (r * slowest);
      if (r > 1) {
        double worst = inside;
        for (const SharedCounts& link : shared_) {
          if (link.one[end + 1] > link.one[begin] && link.other[end + 1] > link.other[begin]) {
            worst = std::max(worst, link.per_byte);
          }
        }
        group.cost.reduce = 2.0 * (r - 1) / r * worst;
        group.cost.reduce_latency = 2 * (r - 1) * inside_latency;
      }
      add_edges(group, begin, end + 1);
    }
  }

  double forward_cost(std::int32_t i, std::int32_t x) const {
    return group_per_byte(cluster_.bandwidth_of(order_[i], order_[x]));
  }
  double backward_cost(std::int32_t i, std::int32_t x) const { return forward_cost(x, i); }

  /// Adds the edges from the group at positions [begin, middle) to the groups that begin at
  /// `middle`.
  void add_edges(Group& group, std::int32_t begin, std::int32_t middle) {
    double forward = 0, backward = 0;
    Nanos forward_latency = 0, backward_latency = 0;
    for (std::int32_t x = middle; x < count_ && x < middle + largest_; ++x) {
      forward = std::max(forward, forward_[x]);
      backward = std::max(backward, backward_[x]);
      forward_latency = std::max(forward_latency, forward_latency_[x]);
      backward_latency = std::max(backward_latency, backward_latency_[x]);
      const std::int32_t r = x + 1 - middle;
      if (r % unit_ != 0) continue;
      const double pairs = static_cast<double>(middle - begin) * r;
      GroupEdge edge{first_of_[middle / unit_] + r / unit_ - 1, forward / pairs, backward / pairs,
                     forward_latency + backward_latency};
      for (const SharedCounts& link : shared_) {
        const double one = link.one[middle] - link.one[begin];
        const double other = link.other[middle] - link.other[begin];
        const double next_one = link.one[x + 1] - link.one[middle];
        const double next_other = link.other[x + 1] - link.other[middle];
        const double out = one * next_other / pairs * link.per_byte;
        const double in = other * next_one / pairs * link.per_byte;
        // Forward messages cross the link in both directions if the groups have devices on both of
        // its sides, and backward messages cross it in the opposite directions. So the larger of
        // the two shares limits forward and backward messages.
        edge.forward = std::max({edge.forward, out, in});
        edge.backward = std::max({edge.backward, out, in});
      }
      if (edge.forward < kUnreachable && edge.backward < kUnreachable) group.next.push_back(edge);
    }
  }

  const Cluster& cluster_;
  const std::vector<std::int32_t>& order_;
  std::vector<SharedCounts> shared_;
  std::int32_t count_, unit_, largest_;
  GroupGraph graph_;
  std::vector<std::int32_t> first_of_;      ///< per unit of the order: the first group that begins
                                            ///< there
  std::vector<double> forward_, backward_;  ///< slowest link between the group and each position
  std::vector<Nanos> forward_latency_, backward_latency_;
};

}  // namespace

GroupGraph ordered_groups(const Cluster& cluster, const std::vector<std::int32_t>& order,
                          const GroupLimits& limits) {
  return OrderedBuilder(cluster, order, limits).build();
}

GroupGraph set_groups(const Cluster& cluster, const GroupLimits& limits) {
  const std::uint32_t all = (1u << cluster.devices) - 1;
  std::vector<std::vector<std::int32_t>> members(all + 1);
  std::vector<GroupCost> costs(all + 1);
  for (std::uint32_t set = 1; set <= all; ++set) {
    for (std::int32_t d = 0; d < cluster.devices; ++d) {
      if ((set >> d & 1) != 0) members[set].push_back(d);
    }
    costs[set] = group_cost(cluster, members[set]);
  }
  const auto allowed = [&](std::uint32_t set) {
    return limits.replicas == 0 || std::popcount(set) <= limits.replicas;
  };
  // Costs of a channel depend on the two sets only, not on the devices used before them, so they
  // are computed once per pair.
  std::vector<GroupEdge> channels(static_cast<std::size_t>(all + 1) * (all + 1));
  GroupGraph graph;
  std::vector<std::int32_t> index(static_cast<std::size_t>(all + 1) * (all + 1), -1);
  for (std::uint32_t used = 0; used <= all; ++used) {
    for (std::uint32_t set = all & ~used; set != 0; set = (set - 1) & ~used & all) {
      if (!allowed(set)) continue;
      index[static_cast<std::size_t>(used) * (all + 1) + set] =
          static_cast<std::int32_t>(graph.size());
      Group group;
      group.devices = members[set];
      group.replicas = std::popcount(set);
      group.cost = costs[set];
      group.memory = group_memory(cluster, members[set]);
      group.first = used == 0;
      graph.push_back(std::move(group));
      if (used == 0 || !allowed(used)) continue;
      const ChannelCost forward = channel_cost(cluster, members[used], members[set]);
      const ChannelCost backward = channel_cost(cluster, members[set], members[used]);
      channels[static_cast<std::size_t>(used) * (all + 1) + set] = {
          0, forward.per_byte, backward.per_byte, forward.latency + backward.latency};
    }
  }
  for (std::uint32_t used = 0; used <= all; ++used) {
    for (std::uint32_t set = all & ~used; set != 0; set = (set - 1) & ~used & all) {
      const std::int32_t from = index[static_cast<std::size_t>(used) * (all + 1) + set];
      if (from < 0) continue;
      const std::uint32_t taken = used | set;
      for (std::uint32_t next = all & ~taken; next != 0; next = (next - 1) & ~taken & all) {
        const std::int32_t to = index[static_cast<std::size_t>(taken) * (all + 1) + next];
        if (to < 0) continue;
        GroupEdge edge = channels[static_cast<std::size_t>(set) * (all + 1) + next];
        edge.to = to;
        if (edge.forward < kUnreachable && edge.backward < kUnreachable) {
          graph[from].next.push_back(edge);
        }
      }
    }
  }
  return graph;
}

GroupGraph ideal_groups(const Cluster& cluster, const GroupLimits& limits) {
  const std::int32_t count = cluster.devices;
  std::vector<double> speed = cluster.speed;
  std::sort(speed.begin(), speed.end(), std::greater<>());
  // out[k]: the best bandwidth that some device has to each of k other devices; in[k]: from each of
  // k other devices.
  std::vector<std::int64_t> out(count, 0), in(count, 0);
  Nanos latency = std::numeric_limits<Nanos>::max();
  for (std::int32_t i = 0; i < count; ++i) {
    std::vector<std::int64_t> to, from;
    for (std::int32_t j = 0; j < count; ++j) {
      if (i == j) continue;
      to.push_back(cluster.bandwidth_of(i, j));
      from.push_back(cluster.bandwidth_of(j, i));
      latency = std::min(latency, cluster.latency_of(i, j));
    }
    std::sort(to.begin(), to.end(), std::greater<>());
    std::sort(from.begin(), from.end(), std::greater<>());
    for (std::size_t k = 0; k < to.size(); ++k) {
      out[k + 1] = std::max(out[k + 1], to[k]);
      in[k + 1] = std::max(in[k + 1], from[k]);
    }
  }
  if (count == 1) latency = 0;
  const std::vector<std::int64_t> among = clique_bandwidths(cluster);
  std::vector<Bytes> memory = cluster.memory;
  // Most memory first; 0 means no limit and counts as most.
  std::sort(memory.begin(), memory.end(),
            [](Bytes a, Bytes b) { return b != 0 && (a == 0 || a > b); });
  const std::int32_t largest = limits.replicas > 0 ? std::min(limits.replicas, count) : count;
  GroupGraph graph;
  std::vector<std::int32_t> first_of;
  for (std::int32_t begin = 0; begin <= count; ++begin) {
    first_of.push_back(static_cast<std::int32_t>(graph.size()));
    for (std::int32_t r = 1; r <= largest && begin + r <= count; ++r) {
      Group group;
      group.replicas = r;
      group.cost.work = 1 / (r * speed[r - 1]);
      if (r > 1) {
        group.cost.reduce = 2.0 * (r - 1) / r * group_per_byte(among[r]);
        group.cost.reduce_latency = 2 * (r - 1) * latency;
      }
      group.memory = memory[r - 1];
      group.first = begin == 0;
      graph.push_back(std::move(group));
    }
  }
  for (std::int32_t begin = 0; begin < count; ++begin) {
    for (std::int32_t r = 1; r <= largest && begin + r < count; ++r) {
      Group& group = graph[first_of[begin] + r - 1];
      for (std::int32_t next = 1; next <= largest && begin + r + next <= count; ++next) {
        const double pairs = static_cast<double>(r) * next;
        // Each of the r senders has a link to each of `next` receivers, and vice versa.
        const double forward = group_per_byte(std::min(out[next], in[r])) / pairs;
        const double backward = group_per_byte(std::min(out[r], in[next])) / pairs;
        if (forward == kUnreachable || backward == kUnreachable) continue;
        group.next.push_back({first_of[begin + r] + next - 1, forward, backward, 2 * latency});
      }
    }
  }
  return graph;
}

bool all_alike(const Cluster& cluster) {
  if (!cluster.shared.empty()) return false;
  for (std::int32_t i = 0; i < cluster.devices; ++i) {
    if (cluster.speed[i] != cluster.speed[0] || cluster.memory[i] != cluster.memory[0])
      return false;
    for (std::int32_t j = 0; j < cluster.devices; ++j) {
      if (i == j) continue;
      if (cluster.bandwidth_of(i, j) != cluster.bandwidth_of(0, 1)) return false;
      if (cluster.latency_of(i, j) != cluster.latency_of(0, 1)) return false;
    }
  }
  return true;
}

}  // namespace weft::pipeline
