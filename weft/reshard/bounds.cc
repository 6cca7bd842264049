// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/bounds.h"

#include <algorithm>
#include <set>

#include "weft/reshard/exchange.h"

namespace weft::reshard {

std::vector<std::int64_t> lacking(const Layout& from, const Layout& to) {
  std::vector<std::int64_t> lacks(to.devices(), 0);
  // Of a partial target a device may hold as little as nothing: others can hold its summand.
  if (to.partial()) return lacks;
  // Of a partial source it has one group at best; the sum of the others must come from elsewhere.
  if (!from.partial()) lacks = kept(from, to);
  for (std::int64_t& own : lacks) own = -own;
  for (Part part = 0; part < to.parts(); ++part) {
    if (to.group[part] != Layout::kAbsent) lacks[to.device_of(part)] += to.elements(part);
  }
  return lacks;
}

std::int64_t least_received(const Layout& from, const Layout& to) {
  const std::vector<std::int64_t> lacks = lacking(from, to);
  const std::int64_t most = lacks.empty() ? 0 : *std::max_element(lacks.begin(), lacks.end());
  if (!from.partial() || to.partial()) return most;
  const std::int64_t count = elements(to.shape);
  std::int64_t wanted = 0;  // by all devices together
  for (const std::int64_t lack : lacks) wanted += lack;
  const std::int64_t total = (from.groups - 1) * count + std::max<std::int64_t>(0, wanted - count);
  const std::int64_t devices = std::max(1, to.devices());
  return std::max(most, (total + devices - 1) / devices);
}

namespace {

/// By node: one of each distinct part that its devices hold.
std::vector<std::vector<Part>> distinct_parts(const Layout& layout,
                                              const std::vector<std::int32_t>& node_of) {
  std::vector<std::vector<Part>> parts;
  std::set<std::vector<std::int32_t>> seen;
  for (Part part = 0; part < layout.parts(); ++part) {
    if (!layout.holds(part)) continue;
    const std::int32_t node = node_of[layout.device_of(part)];
    std::vector<std::int32_t> key{node, layout.group[part]};
    for (const auto& cut : layout.cuts) key.push_back(cut->slot_of[part]);
    if (!seen.insert(std::move(key)).second) continue;
    if (parts.size() <= static_cast<std::size_t>(node)) parts.resize(node + 1);
    parts[node].push_back(part);
  }
  return parts;
}

}  // namespace

std::int64_t node_lacks(const Layout& from, const Layout& to,
                        const std::vector<std::int32_t>& node_of) {
  // Parts that overlap without being equal would be counted twice: no bound is known then.
  if (node_of.empty() || to.partial() || !from.grid || !to.grid) return 0;
  std::vector<std::vector<Part>> have = distinct_parts(from, node_of);
  const std::vector<std::vector<Part>> want = distinct_parts(to, node_of);
  have.resize(std::max(have.size(), want.size()));
  std::int64_t most = 0;
  std::vector<std::int64_t> covered(from.groups);
  for (std::size_t node = 0; node < want.size(); ++node) {
    std::int64_t lacks = 0;
    for (const Part part : want[node]) {
      std::fill(covered.begin(), covered.end(), 0);
      for (const Part mine : have[node]) {
        covered[from.group[mine]] += common_elements(from, mine, to, part);
      }
      lacks += to.elements(part) - *std::min_element(covered.begin(), covered.end());
    }
    most = std::max(most, lacks);
  }
  return most;
}

Bounds bounds(const Problem& problem) {
  Bounds bounds;
  for (const std::int64_t received : lacking(problem.source, problem.target)) {
    bounds.recv_total += received;
  }
  bounds.recv_max = least_received(problem.source, problem.target);
  bounds.node_recv_max = node_lacks(problem.source, problem.target, problem.node_of);
  bounds.memory = std::max(problem.source.largest(), problem.target.largest());
  return bounds;
}

}  // namespace weft::reshard
