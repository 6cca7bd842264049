// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/problem.h"

#include <algorithm>

namespace weft::reshard {

std::vector<Device> dense(const std::vector<std::int64_t>& devices,
                          const std::vector<std::int64_t>& ids) {
  std::vector<Device> numbers;
  numbers.reserve(ids.size());
  for (const std::int64_t id : ids) {
    const auto found = std::lower_bound(devices.begin(), devices.end(), id);
    numbers.push_back(static_cast<Device>(found - devices.begin()));
  }
  return numbers;
}

void set_nodes(Problem& problem, std::int64_t size) {
  problem.node_of.clear();
  for (const std::int64_t id : problem.devices) {
    problem.node_of.push_back(static_cast<std::int32_t>(id / size));
  }
}

Result<Problem> make_problem(const Shape& shape, Bytes item_size, const Sharding& from,
                             const Sharding& to, SplitRule rule) {
  WEFT_TRY(check_sharding(from, shape.size()));
  WEFT_TRY(check_sharding(to, shape.size()));
  Problem problem;
  problem.shape = shape;
  problem.item_size = item_size;
  problem.devices = from.mesh.devices;
  problem.devices.insert(problem.devices.end(), to.mesh.devices.begin(), to.mesh.devices.end());
  std::sort(problem.devices.begin(), problem.devices.end());
  problem.devices.erase(std::unique(problem.devices.begin(), problem.devices.end()),
                        problem.devices.end());
  const auto universe = static_cast<Device>(problem.devices.size());
  problem.source =
      layout_of(shape, from, rule, dense(problem.devices, from.mesh.devices), universe);
  problem.target = layout_of(shape, to, rule, dense(problem.devices, to.mesh.devices), universe);
  // The sum of all that the source has.
  if (!problem.target.partial()) {
    problem.target.group_of_summand.assign(problem.source.groups, 0);
  }
  problem.source_type = from;
  problem.target_type = to;
  return problem;
}

}  // namespace weft::reshard
