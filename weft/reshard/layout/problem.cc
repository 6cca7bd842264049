// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/layout/problem.h"

#include <algorithm>

namespace weft::reshard {
namespace {

/// Appends the user's numbers of all devices of an end (the source or the target).
void add_devices(const End& end, std::vector<std::int64_t>& devices) {
  if (end.type) {
    devices.insert(devices.end(), end.type->mesh.devices.begin(), end.type->mesh.devices.end());
  }
  for (const auto& [device, parts] : end.parts) devices.push_back(device);
}

Status check_parts(const Shape& shape, const End& end) {
  for (const auto& [device, parts] : end.parts) {
    for (const Pieces& pieces : parts) {
      if (pieces.size() != shape.size()) {
        return fail(ErrorCode::kBadInput, "a part must have one piece per dimension of the array");
      }
      for (std::size_t dim = 0; dim < shape.size(); ++dim) {
        if (pieces[dim].empty()) continue;
        if (pieces[dim].front().low < 0 || pieces[dim].back().high > shape[dim]) {
          return fail(ErrorCode::kBadInput, "a part reaches beyond the array");
        }
      }
    }
  }
  return {};
}

Result<Layout> layout_of(const Shape& shape, const End& end, SplitRule rule,
                         const std::vector<std::int64_t>& devices) {
  const auto device_count = static_cast<Device>(devices.size());
  if (end.type) {
    WEFT_TRY(check_sharding(*end.type, shape.size()));
    return layout_of(shape, *end.type, rule, dense(devices, end.type->mesh.devices), device_count);
  }
  WEFT_TRY(check_parts(shape, end));
  std::vector<std::vector<Pieces>> parts(device_count);
  for (const auto& [device, list] : end.parts) parts[dense(devices, {device}).front()] = list;
  return layout_of_parts(shape, parts);
}

}  // namespace

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

Status set_types(Problem& problem, const std::string& from, const std::string& to) {
  WEFT_ASSIGN(Cast cast, make_cast(from, to));
  WEFT_TRY(check_reduction(from, problem.reduction));
  problem.dtype = from;
  problem.item_size = cast.on_the_way(problem.source.partial());
  if (from != to) problem.cast = std::move(cast);
  return {};
}

void set_nodes(Problem& problem, std::int64_t size) {
  problem.node_of.clear();
  // Devices are sorted, so the devices of one node are neighbours in the list. Nodes are numbered
  // without gaps, because the user's device numbers may have large gaps and be as large as 2^40.
  std::int32_t node = 0;
  for (std::size_t i = 0; i < problem.devices.size(); ++i) {
    if (i > 0 && problem.devices[i] / size != problem.devices[i - 1] / size) ++node;
    problem.node_of.push_back(node);
  }
}

NodeSizes node_sizes(const Problem& problem) {
  std::map<std::int32_t, std::int64_t> devices;
  for (const std::int32_t node : problem.node_of) ++devices[node];
  NodeSizes sizes;
  for (const auto& [node, count] : devices) {
    sizes.least = sizes.count == 0 ? count : std::min(sizes.least, count);
    sizes.most = std::max(sizes.most, count);
    ++sizes.count;
  }
  return sizes;
}

Result<Problem> make_problem(const Shape& shape, Bytes item_size, const End& from, const End& to,
                             SplitRule rule, const std::vector<std::int64_t>& others) {
  WEFT_TRY(check_shape(shape));
  Problem problem;
  problem.shape = shape;
  problem.item_size = item_size;
  problem.devices = others;
  add_devices(from, problem.devices);
  add_devices(to, problem.devices);
  std::sort(problem.devices.begin(), problem.devices.end());
  problem.devices.erase(std::unique(problem.devices.begin(), problem.devices.end()),
                        problem.devices.end());
  WEFT_ASSIGN(problem.source, layout_of(shape, from, rule, problem.devices));
  WEFT_ASSIGN(problem.target, layout_of(shape, to, rule, problem.devices));
  // Every summand goes into the only group of the target, because the target is the sum of all
  // groups of the source.
  if (!problem.target.partial()) {
    problem.target.group_of_summand.assign(problem.source.groups, 0);
  }
  problem.source_type = from.type;
  problem.target_type = to.type;
  return problem;
}

Result<Problem> make_problem(const Shape& shape, Bytes item_size, const Sharding& from,
                             const Sharding& to, SplitRule rule) {
  return make_problem(shape, item_size, End{from, {}}, End{to, {}}, rule);
}

}  // namespace weft::reshard
