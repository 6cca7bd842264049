// SPDX-License-Identifier: Apache-2.0
// The collectives of the theory and their typing rules: to which type each leads, if it may be used
// at all. Factors of a dimension are a stack with the least significant on top: a gather pops, a
// slice pushes, an all-to-all pops here and pushes there, a permute is any change that keeps the
// size of every part.
#pragma once

#include <optional>

#include "weft/reshard/plan.h"
#include "weft/reshard/search/factors.h"

namespace weft::reshard {

/// nullopt: the rule does not apply.
std::optional<Type> all_gather(const Type& type, std::size_t dim);
std::optional<Type> dynamic_slice(const Factors& factors, const Type& type, std::size_t dim,
                                  Factor factor);
std::optional<Type> all_to_all(const Type& type, std::size_t from, std::size_t to);
std::optional<Type> reduce_scatter(const Type& type, Factor factor, std::size_t dim);
std::optional<Type> all_reduce(const Type& type, Factor factor);
/// Whether a permute leads from one to the other.
bool all_permute(const Factors& factors, const Type& from, const Type& to);

/// The name of what one exchange between the two types is.
Op recognise(const Factors& factors, const Type& from, const Type& to, const Traffic& traffic);

}  // namespace weft::reshard
