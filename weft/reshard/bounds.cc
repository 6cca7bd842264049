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

/// Distinct parts of the devices of a node.
std::vector<Part> distinct_parts(const Layout& layout, const std::vector<std::int32_t>& node_of,
                                 std::int32_t node) {
  std::vector<Part> found;
  for (Part part = 0; part < layout.parts(); ++part) {
    if (node_of[layout.device_of(part)] != node || !layout.holds(part)) continue;
    const bool known = std::any_of(found.begin(), found.end(), [&](Part other) {
      return layout.group[other] == layout.group[part] &&
             layout.region(other) == layout.region(part);
    });
    if (!known) found.push_back(part);
  }
  return found;
}

/// What the devices of a node want and none of them has, of the node that lacks most. Parts of the
/// target that overlap without being equal would be counted twice: no bound is known then.
std::int64_t node_lacks(const Problem& problem) {
  const Layout &source = problem.source, &target = problem.target;
  if (source.partial() || target.partial() || !source.grid || !target.grid) return 0;
  std::int64_t most = 0;
  for (const std::int32_t node :
       std::set<std::int32_t>(problem.node_of.begin(), problem.node_of.end())) {
    std::int64_t lacks = 0;
    const std::vector<Part> have = distinct_parts(source, problem.node_of, node);
    for (const Part part : distinct_parts(target, problem.node_of, node)) {
      lacks += target.elements(part);
      for (const Part mine : have) lacks -= common_elements(source, mine, target, part);
    }
    most = std::max(most, lacks);
  }
  return most;
}

}  // namespace

Bounds bounds(const Problem& problem) {
  Bounds bounds;
  for (const std::int64_t received : lacking(problem.source, problem.target)) {
    bounds.recv_total += received;
  }
  bounds.recv_max = least_received(problem.source, problem.target);
  bounds.node_recv_max = node_lacks(problem);
  bounds.memory = std::max(problem.source.largest(), problem.target.largest());
  return bounds;
}

}  // namespace weft::reshard
