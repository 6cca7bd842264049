// SPDX-License-Identifier: Apache-2.0
// Lists the moves of the search: the types that it tries next from a given type.
#pragma once

#include <vector>

#include "weft/reshard/search/type_numbers.h"

namespace weft::reshard {

/// The types that the search tries one round after `from`:
///   * the target, and types like the target in which some devices still hold different pieces
///     instead of copies, to be gathered afterwards;
///   * `from` after one slice of all dimensions: each dimension is sliced by the unused factors by
///     which the target cuts it;
///   * `from` with all summands, or only those within nodes, scattered over one dimension;
///   * `from` with a single factor moved to another place, for every factor and place;
///   * `from` with two factors swapped.
/// Each type appears once. `from` itself does not appear.
std::vector<TypeNumber> moves(const FactoredProblem& factored, TypeNumber from,
                              TypeNumbers& numbers);

/// Intermediate types that separate traffic within nodes from traffic between nodes. Empty if no
/// factor is within a node. For each dimension there are two types:
///   * The target, but the devices of a node that hold copies in the target share the dimension
///     instead: each of them holds a piece. To reach this type, a node receives every element that
///     it wants once. Its devices exchange their pieces afterwards.
///   * The same, but with all factors within nodes cutting this dimension.
/// If both ends use the same factors, there are two more types. In one, factors within nodes are
/// placed as in the target, and all other factors as in the source. In the other type, it is the
/// other way round.
std::vector<Type> node_waypoints(const FactoredProblem& factored);

/// Whether filling in neutral elements is enough to turn the type into the target. If the target is
/// not partial, only the target itself satisfies this.
bool arrived(const FactoredProblem& factored, const Type& type);

}  // namespace weft::reshard
