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
  std::vector<std::int32_t> node_of;  ///< indexed by device; empty if nodes do not matter
  Layout source;
  /// If the target is partial, the numbers in `target.group` only say which devices hold different
  /// summands. The planner chooses the summand of each device. It must make the summands of each
  /// team add up to the array.
  Layout target;
  /// The shardings of source and target. nullopt if the end was not given as a sharding over a
  /// mesh. A planner searches over axes only if both ends have a sharding.
  std::optional<Sharding> source_type, target_type;
  std::string reduction;  ///< how summands are combined: "sum", "min", ...; empty without summands
};

/// One end of a problem as a caller describes it: either a sharding over a mesh, or the parts of
/// each device. The keys of `parts` are the user's device numbers.
struct End {
  std::optional<Sharding> type;
  std::map<std::int64_t, std::vector<Pieces>> parts;
};

/// Makes a problem with shape, devices, source and target. `others` lists additional devices that
/// hold nothing of this array; they hold parts of arrays that move together with it. Returns an
/// Error (kBadInput) if an end does not fit the shape.
Result<Problem> make_problem(const Shape& shape, Bytes item_size, const End& from, const End& to,
                             SplitRule rule, const std::vector<std::int64_t>& others = {});

/// Makes a problem whose source and target are shardings over meshes.
Result<Problem> make_problem(const Shape& shape, Bytes item_size, const Sharding& from,
                             const Sharding& to, SplitRule rule);

/// Sets item_size and dtype. If the two types differ, sets cast as well. Returns an Error if the
/// cast or the reduction is impossible with these types.
Status set_types(Problem& problem, const std::string& from, const std::string& to);
/// Bytes of an element of the source, and of the target.
inline Bytes source_item(const Problem& problem) {
  return problem.cast ? problem.cast->from_size : problem.item_size;
}
inline Bytes target_item(const Problem& problem) {
  return problem.cast ? problem.cast->to_size : problem.item_size;
}

/// Sets node_of: the device with the user's number n is on node n / size. If the problem does not
/// use some of a node's device numbers, that node has fewer devices.
void set_nodes(Problem& problem, std::int64_t size);
/// The number of nodes, and the devices of the smallest and of the largest node.
struct NodeSizes {
  std::int64_t count = 0, least = 0, most = 0;
};
NodeSizes node_sizes(const Problem& problem);

/// Converts the user's numbers `ids` to Devices, which are indices into `devices`. `devices` must
/// be sorted and contain all `ids`.
std::vector<Device> dense(const std::vector<std::int64_t>& devices,
                          const std::vector<std::int64_t>& ids);

}  // namespace weft::reshard
