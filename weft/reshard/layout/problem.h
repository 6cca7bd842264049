// SPDX-License-Identifier: Apache-2.0
// A redistribution problem: one array, its source layout, and its target layout.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "weft/base/units.h"
#include "weft/reshard/layout/element_type.h"
#include "weft/reshard/layout/layout.h"
#include "weft/reshard/layout/sharding.h"

namespace weft::reshard {

struct Problem {
  std::string id;
  Bytes item_size = 4;       ///< bytes of an element as it is sent
  std::string dtype;         ///< of the source; empty if not given
  std::optional<Cast> cast;  ///< set if source and target have different element types
  Shape shape;
  std::vector<std::int64_t> devices;  ///< the user's numbers, sorted; a Device is an index into it
  std::vector<std::int32_t> node_of;  ///< by device; empty if nodes do not matter
  Layout source;
  /// If the target is partial, `target.group` only says which devices hold different summands.
  /// The planner chooses which summand each of them gets, as long as each team adds up to the
  /// array.
  Layout target;
  /// Set for ends that were given over a mesh. A planner searches over axes only if both are set.
  std::optional<Sharding> source_type, target_type;
  std::string reduction;  ///< of the summands: "sum", "min", ...; empty if neither end is partial
};

/// One end of a problem as a caller describes it: a sharding over a mesh, or else the parts of each
/// device, by the user's device numbers.
struct End {
  std::optional<Sharding> type;
  std::map<std::int64_t, std::vector<Pieces>> parts;
};

/// Fills shape, devices, source and target. `others` are devices without a part of this array; they
/// have parts of arrays that are moved together with it. An Error (kBadInput) if an end does not
/// fit the shape.
Result<Problem> make_problem(const Shape& shape, Bytes item_size, const End& from, const End& to,
                             SplitRule rule, const std::vector<std::int64_t>& others = {});

/// The same for two shardings over meshes.
Result<Problem> make_problem(const Shape& shape, Bytes item_size, const Sharding& from,
                             const Sharding& to, SplitRule rule);

/// Sets item_size, dtype and, if both types differ, cast. An Error if the cast or the reduction is
/// not possible with these types.
Status set_types(Problem& problem, const std::string& from, const std::string& to);
/// Bytes of an element of the source, and of the target.
inline Bytes source_item(const Problem& problem) {
  return problem.cast ? problem.cast->from_size : problem.item_size;
}
inline Bytes target_item(const Problem& problem) {
  return problem.cast ? problem.cast->to_size : problem.item_size;
}

/// Sets node_of: the device with the user's number n is on node n / size. A node has fewer devices
/// if the problem does not use all of its numbers.
void set_nodes(Problem& problem, std::int64_t size);
/// The number of nodes, and the devices of the smallest and of the largest node.
struct NodeSizes {
  std::int64_t count = 0, least = 0, most = 0;
};
NodeSizes node_sizes(const Problem& problem);

/// The Device of each of `ids`, which must all be in `devices` (sorted).
std::vector<Device> dense(const std::vector<std::int64_t>& devices,
                          const std::vector<std::int64_t>& ids);

}  // namespace weft::reshard
