// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/search/bounds.h"

#include <algorithm>

#include "weft/reshard/round/exchange.h"
#include "weft/reshard/round/nodes.h"

namespace weft::reshard {

std::vector<std::int64_t> lacking(const Layout& from, const Layout& to) {
  std::vector<std::int64_t> lacks(to.devices(), 0);
  // A device may hold nothing of a partial target, because other devices can hold its summand.
  if (to.partial()) return lacks;
  // A device has at most one group of a partial source. The sum of the other groups must come from
  // other devices, and it has as many elements as the part itself. So nothing that the device holds
  // reduces this bound.
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
  std::int64_t wanted = 0;  // elements that all devices together lack
  for (const std::int64_t lack : lacks) wanted += lack;
  const std::int64_t total = (from.groups - 1) * count + std::max<std::int64_t>(0, wanted - count);
  const std::int64_t devices = std::max(1, to.devices());
  return std::max(most, (total + devices - 1) / devices);
}

Bounds bounds(const Problem& problem) {
  Bounds bounds;
  for (const std::int64_t received : lacking(problem.source, problem.target)) {
    bounds.recv_total += received;
  }
  bounds.recv_max = least_received(problem.source, problem.target);
  OverlapCache overlaps(problem.node_of);
  bounds.node_recv_max = node_deficit_max(problem.source, problem.target, overlaps);
  bounds.memory = std::max(problem.source.largest(), problem.target.largest());
  return bounds;
}

}  // namespace weft::reshard
