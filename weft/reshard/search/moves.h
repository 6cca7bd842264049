// SPDX-License-Identifier: Apache-2.0
// The moves of the search: which types it tries next from a given type.
#pragma once

#include <vector>

#include "weft/reshard/search/type_numbers.h"

namespace weft::reshard {

/// The types that the search tries one round away from `from`:
///   * the target, and the target with some of its copies still cut, to be gathered afterwards;
///   * everything sliced off towards the target at once;
///   * all summands, or those within nodes, scattered over one dimension;
///   * each single factor moved to every other place;
///   * two factors swapped.
/// Each type appears once, and `from` itself does not.
std::vector<TypeNumber> moves(const FactoredProblem& factored, TypeNumber from,
                              TypeNumbers& numbers);

/// Intermediate types that separate traffic within nodes from traffic between nodes; empty if no
/// factor is within a node. For each dimension:
///   * the target with its copies along factors within nodes still cut: a node pulls everything
///     that it wants once, and distributes it inside afterwards;
///   * the same with all factors within nodes cutting this dimension.
/// If both ends use the same factors, also the source with only its factors within nodes placed as
/// in the target, and the source with only the other factors placed as in the target.
std::vector<Type> node_waypoints(const FactoredProblem& factored);

/// Whether only neutral elements are missing to turn the type into the target. If the target is not
/// partial, only the target itself is.
bool arrived(const FactoredProblem& factored, const Type& type);

}  // namespace weft::reshard
