// SPDX-License-Identifier: Apache-2.0
// The moves of the search: which types it tries next from a given type.
#pragma once

#include <vector>

#include "weft/reshard/search/type_numbers.h"

namespace weft::reshard {

/// The types that the search tries one round after `from`:
///   * the target, and the target with some of its copies still cut, to be gathered afterwards;
///   * `from` with every dimension sliced at once by the unused factors that the target cuts it by;
///   * `from` with all summands, or only those within nodes, scattered over one dimension;
///   * `from` with a single factor moved to another place, for every factor and place;
///   * `from` with two factors swapped.
/// Each type appears once. `from` itself does not appear.
std::vector<TypeNumber> moves(const FactoredProblem& factored, TypeNumber from,
                              TypeNumbers& numbers);

/// Intermediate types that separate traffic within nodes from traffic between nodes. Empty if no
/// factor is within a node. For each dimension there are two types:
///   * The target, but its copies along factors within nodes are still cut. To reach this type, a
///     node receives everything that it wants once. Its devices exchange these parts afterwards.
///   * The same, with all factors within nodes cutting this dimension.
/// If both ends use the same factors, there are two more types: the source with only its factors
/// within nodes placed as in the target, and the source with only its other factors placed as in
/// the target.
std::vector<Type> node_waypoints(const FactoredProblem& factored);

/// Whether filling in neutral elements is enough to turn the type into the target. If the target is
/// not partial, only the target itself satisfies this.
bool arrived(const FactoredProblem& factored, const Type& type);

}  // namespace weft::reshard
