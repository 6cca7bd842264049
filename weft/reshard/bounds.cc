// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/bounds.h"

#include <algorithm>

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

Bounds bounds(const Problem& problem) {
  Bounds bounds;
  for (const std::int64_t received : lacking(problem.source, problem.target)) {
    bounds.recv_max = std::max(bounds.recv_max, received);
    bounds.recv_total += received;
  }
  bounds.memory = std::max(problem.source.largest(), problem.target.largest());
  return bounds;
}

}  // namespace weft::reshard
