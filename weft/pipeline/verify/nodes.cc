// SPDX-License-Identifier: Apache-2.0
#include "weft/pipeline/verify/nodes.h"

#include <algorithm>
#include <limits>

#include "weft/pipeline/verify/capacity.h"
#include "weft/pipeline/verify/times.h"

namespace weft::pipeline::verify {
namespace {

constexpr double kUnreachable = std::numeric_limits<double>::infinity();
/// The nodes are all sets of devices only if there are at most kMostSets devices. With 9 or 10
/// devices there must also be at most kMostSetLayers layers. Otherwise the tables would be too
/// large.
constexpr std::int32_t kMostSets = 10, kMostSetLayers = 100;

/// Whether all devices are equal in every respect. Then only numbers of devices matter.
bool alike(const PlanData& plan) {
  bool same = plan.shared.empty();
  for (std::int32_t i = 0; i < plan.devices; ++i) {
    same &= plan.speed[i] == plan.speed[0] && plan.memory[i] == plan.memory[0];
    for (std::int32_t j = 0; j < plan.devices; ++j) {
      if (i == j) continue;
      same &= plan.bandwidth[i][j] == plan.bandwidth[0][1];
      same &= plan.latency[i][j] == plan.latency[0][1];
    }
  }
  return same;
}

bool allowed(const PlanData& plan, std::int32_t replicas) {
  return plan.most_replicas == 0 || replicas <= plan.most_replicas;
}

/// The smallest memory limit within a group; 0: none of its devices has a limit.
Bytes least_memory(const PlanData& plan, const std::vector<std::int32_t>& group) {
  Bytes least = 0;
  for (const std::int32_t device : group) {
    if (plan.memory[device] > 0 && (least == 0 || plan.memory[device] < least)) {
      least = plan.memory[device];
    }
  }
  return least;
}

/// One node per pair (devices used before, set of devices), so that paths are all sequences of
/// disjoint sets: 3^n nodes and 4^n edges for n devices.
std::vector<Node> set_nodes(const PlanData& plan) {
  const std::size_t sets = std::size_t{1} << plan.devices;
  std::vector<std::vector<std::int32_t>> members(sets);
  for (std::size_t set = 1; set < sets; ++set) {
    for (std::int32_t d = 0; d < plan.devices; ++d) {
      if ((set >> d & 1) != 0) members[set].push_back(d);
    }
  }
  std::vector<std::size_t> index(sets * sets, 0);
  std::size_t count = 0;
  for (std::size_t used = 0; used < sets; ++used) {
    for (std::size_t set = 1; set < sets; ++set) {
      if ((used & set) == 0) index[used * sets + set] = count++;
    }
  }
  std::vector<Node> nodes(count);
  // Costs between two sets do not depend on which devices were used before: compute them once.
  std::vector<Edge> channels(sets * sets, Edge{0, kUnreachable, kUnreachable, 0, 0});
  for (std::size_t a = 1; a < sets; ++a) {
    for (std::size_t b = 1; b < sets; ++b) {
      if ((a & b) != 0) continue;
      channels[a * sets + b] = {0, channel_rate(plan, members[a], members[b]),
                                channel_rate(plan, members[b], members[a]),
                                channel_latency(plan, members[a], members[b]),
                                channel_latency(plan, members[b], members[a])};
    }
  }
  for (std::size_t used = 0; used < sets; ++used) {
    for (std::size_t set = 1; set < sets; ++set) {
      if ((used & set) != 0 || !allowed(plan, static_cast<std::int32_t>(members[set].size())))
        continue;
      Node& node = nodes[index[used * sets + set]];
      node.devices = members[set];
      node.replicas = static_cast<std::int32_t>(members[set].size());
      node.work = group_work(plan, members[set]);
      node.reduce = reduce_rate(plan, members[set]);
      node.reduce_latency = reduce_latency(plan, members[set]);
      node.memory = least_memory(plan, members[set]);
      node.first = used == 0;
      for (std::size_t next = 1; next < sets; ++next) {
        if (((used | set) & next) != 0) continue;
        if (!allowed(plan, static_cast<std::int32_t>(members[next].size()))) continue;
        Edge edge = channels[set * sets + next];
        edge.to = index[(used | set) * sets + next];
        if (edge.there < kUnreachable && edge.back < kUnreachable) node.next.push_back(edge);
      }
    }
  }
  return nodes;
}

/// Take the k-th best bandwidth of each device. Element k (from 1 on) is the largest of these
/// values. So if a device has links to k devices, its slowest link has at most this bandwidth.
std::vector<std::int64_t> best_links(const PlanData& plan, bool out) {
  std::vector<std::int64_t> best(plan.devices, 0);
  for (std::int32_t i = 0; i < plan.devices; ++i) {
    std::vector<std::int64_t> links;
    for (std::int32_t j = 0; j < plan.devices; ++j) {
      if (i != j) links.push_back(out ? plan.bandwidth[i][j] : plan.bandwidth[j][i]);
    }
    std::sort(links.rbegin(), links.rend());
    for (std::size_t k = 0; k < links.size(); ++k) best[k + 1] = std::max(best[k + 1], links[k]);
  }
  return best;
}

/// One node per pair (number of devices used before, replicas). Each node has the best speed, links
/// and memory that this many devices can have.
std::vector<Node> count_nodes(const PlanData& plan) {
  const std::int32_t count = plan.devices;
  const std::vector<std::int64_t> out = best_links(plan, true), in = best_links(plan, false);
  const std::vector<std::int64_t> among = fastest_among(plan);
  std::vector<double> speed = plan.speed;
  std::sort(speed.rbegin(), speed.rend());
  Nanos latency = count > 1 ? std::numeric_limits<Nanos>::max() : 0;
  std::vector<Bytes> memory;  // largest first; 0 (no limit) counts as the largest
  for (std::int32_t i = 0; i < count; ++i) {
    memory.push_back(plan.memory[i] > 0 ? plan.memory[i] : std::numeric_limits<Bytes>::max());
    for (std::int32_t j = 0; j < count; ++j) {
      if (i != j) latency = std::min(latency, plan.latency[i][j]);
    }
  }
  std::sort(memory.rbegin(), memory.rend());
  std::replace(memory.begin(), memory.end(), std::numeric_limits<Bytes>::max(), Bytes{0});
  const auto rate = [](std::int64_t bandwidth) {
    return bandwidth > 0 ? 1e9 / static_cast<double>(bandwidth) : kUnreachable;
  };
  const auto side = static_cast<std::size_t>(count) + 1;
  std::vector<Node> nodes(side * side);
  for (std::int32_t used = 0; used < count; ++used) {
    for (std::int32_t r = 1; used + r <= count && allowed(plan, r); ++r) {
      Node& node = nodes[static_cast<std::size_t>(used) * side + r];
      node.replicas = r;
      node.work = 1 / (r * speed[r - 1]);
      if (r > 1) {
        node.reduce = 2.0 * (r - 1) / r * rate(among[r]);
        node.reduce_latency = 2 * (r - 1) * latency;
      }
      node.memory = memory[r - 1];
      node.first = used == 0;
      for (std::int32_t next = 1; used + r + next <= count && allowed(plan, next); ++next) {
        // Assume the fastest possible transfer: every pair has the best links, and all pairs share
        // the bytes evenly.
        const double pairs = static_cast<double>(r) * next;
        const Edge edge{static_cast<std::size_t>(used + r) * side + next,
                        rate(std::min(out[next], in[r])) / pairs,
                        rate(std::min(out[r], in[next])) / pairs, latency, latency};
        if (edge.there < kUnreachable && edge.back < kUnreachable) node.next.push_back(edge);
      }
    }
  }
  return nodes;
}

}  // namespace

std::vector<Node> device_nodes(const PlanData& plan) {
  const bool sets = plan.devices <= kMostSets && !alike(plan) &&
                    (plan.devices <= 8 || plan.layers.size() <= kMostSetLayers);
  return sets ? set_nodes(plan) : count_nodes(plan);
}

}  // namespace weft::pipeline::verify
