// SPDX-License-Identifier: Apache-2.0
// Orders devices with two heuristics: recursive_order() divides the devices by minimum cuts,
// joined_order() concatenates devices along the fastest links. The bandwidth of a pair is the sum
// over its two directions.
#include "weft/pipeline/rivals/device_orders.h"

#include <algorithm>
#include <numeric>

namespace weft::pipeline {
namespace {

constexpr std::int32_t kMostForCuts = 128;  ///< devices up to which recursive_order() is used

double between(const Cluster& cluster, std::int32_t a, std::int32_t b) {
  return static_cast<double>(cluster.bandwidth_of(a, b)) +
         static_cast<double>(cluster.bandwidth_of(b, a));
}

/// The side of a global minimum cut that does not contain the first device. The Stoer-Wagner
/// algorithm: each phase orders the vertices by how strongly they are connected to the vertices
/// ordered before them. The last vertex then gives a candidate cut and is merged with the one
/// before it.
std::vector<std::int32_t> least_cut(const Cluster& cluster, const std::vector<std::int32_t>& all) {
  const std::size_t count = all.size();
  std::vector<std::vector<double>> weight(count, std::vector<double>(count, 0));
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = 0; j < count; ++j) {
      if (i != j) weight[i][j] = between(cluster, all[i], all[j]);
    }
  }
  std::vector<std::vector<std::size_t>> merged(count);
  for (std::size_t i = 0; i < count; ++i) merged[i] = {i};
  std::vector<std::size_t> alive(count);
  std::iota(alive.begin(), alive.end(), std::size_t{0});
  double least = 0;
  std::vector<std::size_t> side;
  while (alive.size() > 1) {
    std::vector<double> tie(count, 0);  // total weight of the edges to vertices ordered before
    std::vector<std::size_t> rest = alive;
    std::size_t before = rest.front(), last = rest.front();
    while (!rest.empty()) {
      const auto next = std::max_element(rest.begin(), rest.end(),
                                         [&](auto a, auto b) { return tie[a] < tie[b]; });
      before = last;
      last = *next;
      rest.erase(next);
      for (const std::size_t other : rest) tie[other] += weight[last][other];
    }
    if (side.empty() || tie[last] < least) {
      least = tie[last];
      side = merged[last];
    }
    merged[before].insert(merged[before].end(), merged[last].begin(), merged[last].end());
    for (const std::size_t other : alive) {
      weight[before][other] += weight[last][other];
      weight[other][before] = weight[before][other];
    }
    alive.erase(std::find(alive.begin(), alive.end(), last));
  }
  std::vector<bool> in_side(count, false);
  for (const std::size_t i : side) in_side[i] = true;
  std::vector<std::int32_t> cut;
  for (std::size_t i = 0; i < count; ++i) {
    if (in_side[i] != in_side[0]) cut.push_back(all[i]);
  }
  return cut;
}

/// Appends the recursive order of some devices to `out`.
void order_into(const Cluster& cluster, const std::vector<std::int32_t>& all,
                std::vector<std::int32_t>& out) {
  if (all.size() < 3) {
    out.insert(out.end(), all.begin(), all.end());
    return;
  }
  const std::vector<std::int32_t> second = least_cut(cluster, all);
  std::vector<std::int32_t> first;
  std::set_difference(all.begin(), all.end(), second.begin(), second.end(),
                      std::back_inserter(first));
  order_into(cluster, first, out);
  order_into(cluster, second, out);
}

}  // namespace

std::vector<std::int32_t> recursive_order(const Cluster& cluster) {
  std::vector<std::int32_t> all(cluster.devices), order;
  std::iota(all.begin(), all.end(), 0);
  order_into(cluster, all, order);
  return order;
}

std::vector<std::int32_t> joined_order(const Cluster& cluster) {
  struct Pair {
    double weight;
    std::int32_t a, b;
  };
  std::vector<Pair> pairs;
  for (std::int32_t a = 0; a < cluster.devices; ++a) {
    for (std::int32_t b = a + 1; b < cluster.devices; ++b) {
      pairs.push_back({between(cluster, a, b), a, b});
    }
  }
  std::stable_sort(pairs.begin(), pairs.end(),
                   [](const Pair& x, const Pair& y) { return x.weight > y.weight; });
  std::vector<std::int32_t> sequence_of(cluster.devices);
  std::iota(sequence_of.begin(), sequence_of.end(), 0);
  std::vector<std::vector<std::int32_t>> sequences(cluster.devices);
  for (std::int32_t i = 0; i < cluster.devices; ++i) sequences[i] = {i};
  for (const Pair& pair : pairs) {
    std::int32_t left = sequence_of[pair.a], right = sequence_of[pair.b];
    if (left == right) continue;
    if (left > right) std::swap(left, right);
    auto &a = sequences[left], &b = sequences[right];
    // There are four pairs of ends. Reverse the sequences so that the best pair meets in the
    // middle.
    const double ends[4] = {
        between(cluster, a.back(), b.front()), between(cluster, a.back(), b.back()),
        between(cluster, a.front(), b.front()), between(cluster, a.front(), b.back())};
    const auto best = std::max_element(ends, ends + 4) - ends;
    if (best >= 2) std::reverse(a.begin(), a.end());
    if (best % 2 == 1) std::reverse(b.begin(), b.end());
    for (const std::int32_t device : b) sequence_of[device] = left;
    a.insert(a.end(), b.begin(), b.end());
    b.clear();
  }
  return sequences[sequence_of[0]];
}

std::vector<std::vector<std::int32_t>> device_orders(const Cluster& cluster) {
  std::vector<std::vector<std::int32_t>> orders;
  const auto add = [&](std::vector<std::int32_t> order) {
    if (std::find(orders.begin(), orders.end(), order) == orders.end()) {
      orders.push_back(std::move(order));
    }
  };
  if (cluster.devices <= kMostForCuts) add(recursive_order(cluster));
  add(joined_order(cluster));
  std::vector<std::int32_t> plain(cluster.devices);
  std::iota(plain.begin(), plain.end(), 0);
  add(plain);
  return orders;
}

}  // namespace weft::pipeline
