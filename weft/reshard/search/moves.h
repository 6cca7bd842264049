// SPDX-License-Identifier: Apache-2.0
// Where a search may go from a type.
#pragma once

#include <vector>

#include "weft/reshard/search/type_numbers.h"

namespace weft::reshard {

/// Types one round away: each factor to every other place, two factors swapped, all summands
/// scattered at once, and all ways (of a chosen few) to arrive: the target, and the target with
/// copies still cut, to be gathered afterwards. Without repetition, without the type itself.
std::vector<TypeNumber> moves(const FactoredProblem& factored, TypeNumber from,
                              TypeNumbers& numbers);

/// Where there are nodes, types that part what moves inside them from what moves between them. For
/// each dimension, the target with its copies still cut there by the devices of a node: a node has
/// pulled what it wants once, to be fanned out inside; the same with all factors of nodes there.
/// And the source with only the factors of nodes where the target has them, or only the others.
std::vector<Type> node_waypoints(const FactoredProblem& factored);

/// Types that are the target but for filling summands with neutral elements; that of the target
/// itself where it is not partial.
bool arrived(const FactoredProblem& factored, const Type& type);

}  // namespace weft::reshard
