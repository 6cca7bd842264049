// SPDX-License-Identifier: Apache-2.0
// One array, how it is distributed, and how it shall be.
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
  Bytes item_size = 4;  ///< of an element on its way
  std::string dtype;    ///< of the source; empty: not told
  std::optional<Cast> cast;
  Shape shape;
  std::vector<std::int64_t> devices;  ///< the user's numbers; a Device is an index into them
  std::vector<std::int32_t> node_of;  ///< by device; empty: all alike
  Layout source;
  /// Of a partial target, `target.group` tells the devices that add up apart; which of them holds
  /// which summand is the planner's choice.
  Layout target;
  /// Where they came from a mesh: what lets a planner think in axes instead of boxes.
  std::optional<Sharding> source_type, target_type;
  std::string reduction;  ///< of a partial side: "sum", "min", ...; empty: none
};

/// One end of a problem as whoever asks knows it: a type over a mesh, or else the parts of each
/// device, by the user's numbers.
struct End {
  std::optional<Sharding> type;
  std::map<std::int64_t, std::vector<Pieces>> parts;
};

/// `others`: devices that have no part in it, but in arrays that are moved together with this one.
Result<Problem> make_problem(const Shape& shape, Bytes item_size, const End& from, const End& to,
                             SplitRule rule, const std::vector<std::int64_t>& others = {});

/// Fills devices, source and target from two types over meshes.
Result<Problem> make_problem(const Shape& shape, Bytes item_size, const Sharding& from,
                             const Sharding& to, SplitRule rule);

/// Sets item_size, dtype and, where both differ, cast. An Error where elements cannot be cast or
/// reduced so.
Status set_types(Problem& problem, const std::string& from, const std::string& to);
/// Bytes of an element at both ends.
inline Bytes source_item(const Problem& problem) {
  return problem.cast ? problem.cast->from_size : problem.item_size;
}
inline Bytes target_item(const Problem& problem) {
  return problem.cast ? problem.cast->to_size : problem.item_size;
}

/// Nodes of `size` devices each, by the user's numbers: those whose number divided by it is the
/// same. The last one, and any whose numbers are not all there, has fewer.
void set_nodes(Problem& problem, std::int64_t size);
/// How many nodes there are, and how many devices they have.
struct NodeSizes {
  std::int64_t count = 0, least = 0, most = 0;
};
NodeSizes node_sizes(const Problem& problem);

/// The dense numbers of `ids`, which are among `devices` (sorted).
std::vector<Device> dense(const std::vector<std::int64_t>& devices,
                          const std::vector<std::int64_t>& ids);

}  // namespace weft::reshard
