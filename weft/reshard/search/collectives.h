// SPDX-License-Identifier: Apache-2.0
// Defines the typing rules of collectives: whether a collective can be applied to a type, and which
// type results. The factors of a dimension are treated as a stack whose top is the least
// significant factor. An all-gather pops a factor. A dynamic slice pushes a factor that the type
// does not use. An all-to-all pops a factor from one dimension and pushes it onto another. A
// permute is any change that keeps the size of every part.
#pragma once

#include <optional>

#include "weft/reshard/plan.h"
#include "weft/reshard/search/factors.h"

namespace weft::reshard {

/// The resulting type; nullopt if the rule cannot be applied.
std::optional<Type> all_gather(const Type& type, std::size_t dim);
std::optional<Type> dynamic_slice(const Factors& factors, const Type& type, std::size_t dim,
                                  Factor factor);
std::optional<Type> all_to_all(const Type& type, std::size_t from, std::size_t to);
std::optional<Type> reduce_scatter(const Type& type, Factor factor, std::size_t dim);
std::optional<Type> all_reduce(const Type& type, Factor factor);
/// Whether a permute leads from one type to the other.
bool all_permute(const Factors& factors, const Type& from, const Type& to);

/// The name of the exchange between the two types: a collective, or kExchange if none fits.
Op recognise(const Factors& factors, const Type& from, const Type& to, const Traffic& traffic);

}  // namespace weft::reshard
