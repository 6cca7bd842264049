// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/bounds.h"

#include <algorithm>

namespace weft::reshard {

std::int64_t lacking(const Layout& from, const Layout& to, Device device) {
  // Of a partial target a device may hold as little as nothing: others can hold its summand.
  if (to.partial() || to.group[device] == Layout::kAbsent) return 0;
  const std::int64_t wanted = to.elements(device);
  // Of a partial source it has one group at best; the sum of the others must come from elsewhere.
  if (from.partial() || from.group[device] == Layout::kAbsent) return wanted;
  std::int64_t own = 1;
  for (std::size_t i = 0; i < from.cuts.size() && own > 0; ++i) {
    own *= common_length(from.cuts[i]->part(device), to.cuts[i]->part(device));
  }
  return wanted - own;
}

Bounds bounds(const Problem& problem) {
  Bounds bounds;
  for (Device device = 0; device < problem.target.devices(); ++device) {
    const std::int64_t received = lacking(problem.source, problem.target, device);
    bounds.recv_max = std::max(bounds.recv_max, received);
    bounds.recv_total += received;
  }
  bounds.memory = std::max(problem.source.largest(), problem.target.largest());
  return bounds;
}

}  // namespace weft::reshard
