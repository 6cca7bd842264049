// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/search/collectives.h"

#include <algorithm>

namespace weft::reshard {
namespace {

/// The length of the longest common prefix of the two lists.
std::size_t common_start(const FactorList& a, const FactorList& b) {
  const auto [end, other] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  return static_cast<std::size_t>(end - a.begin());
}

/// The factors that cut a dimension are a stack, with the least significant factor on top. This
/// struct has the factors that are popped from any dimension, and the factors that are pushed onto
/// any dimension. Both lists are sorted. The factors below them in the stacks stay in place.
struct StackChange {
  FactorList popped, pushed;
  bool moved = true;  ///< no popped factor is pushed onto the dimension it came from
};

StackChange stack_change(const Type& from, const Type& to) {
  StackChange change;
  for (std::size_t i = 0; i < from.dims.size(); ++i) {
    const auto same = static_cast<std::ptrdiff_t>(common_start(from.dims[i], to.dims[i]));
    change.popped.append(from.dims[i].begin() + same, from.dims[i].end());
    change.pushed.append(to.dims[i].begin() + same, to.dims[i].end());
    for (auto at = from.dims[i].begin() + same; at != from.dims[i].end(); ++at) {
      change.moved = change.moved && !to.dims[i].has(*at);
    }
  }
  std::sort(change.popped.begin(), change.popped.end());
  std::sort(change.pushed.begin(), change.pushed.end());
  return change;
}

}  // namespace

std::optional<Type> all_gather(const Type& type, std::size_t dim) {
  if (type.dims[dim].empty() || type.frames[dim] != Frame::kPlain) return std::nullopt;
  Type next = type;
  next.dims[dim].pop_back();
  return next;
}

std::optional<Type> dynamic_slice(const Factors& factors, const Type& type, std::size_t dim,
                                  Factor factor) {
  if (!unused(factors, type).has(factor)) return std::nullopt;
  Type next = type;
  next.dims[dim].push_back(factor);
  return next;
}

std::optional<Type> all_to_all(const Type& type, std::size_t from, std::size_t to) {
  if (from == to || type.dims[from].empty()) return std::nullopt;
  Type next = type;
  next.dims[to].push_back(next.dims[from].back());
  next.dims[from].pop_back();
  return next;
}

std::optional<Type> reduce_scatter(const Type& type, Factor factor, std::size_t dim) {
  std::optional<Type> next = all_reduce(type, factor);
  if (next) next->dims[dim].push_back(factor);
  return next;
}

std::optional<Type> all_reduce(const Type& type, Factor factor) {
  Type next = type;
  if (!next.partial.remove(factor)) return std::nullopt;
  return next;
}

bool all_permute(const Factors& factors, const Type& from, const Type& to) {
  if (from.partial != to.partial) return false;
  for (std::size_t dim = 0; dim < from.dims.size(); ++dim) {
    if (divisor(factors, from.dims[dim]) != divisor(factors, to.dims[dim])) return false;
  }
  return true;
}

Op recognise(const Factors& factors, const Type& from, const Type& to, const Traffic& traffic) {
  if (traffic.recv_max == 0) return Op::kDynamicSlice;
  if (from.side != to.side) return Op::kExchange;
  if (traffic.peers_max == 1 && all_permute(factors, from, to)) return Op::kAllPermute;
  const StackChange change = stack_change(from, to);
  if (from.partial != to.partial) {
    FactorList reduced = from.partial;
    for (const Factor factor : to.partial) reduced.remove(factor);
    std::sort(reduced.begin(), reduced.end());
    return change.popped.empty() && change.pushed == reduced ? Op::kReduceScatter : Op::kExchange;
  }
  if (change.pushed.empty()) return Op::kAllGather;
  if (change.pushed == change.popped && change.moved) return Op::kAllToAll;
  return Op::kExchange;
}

}  // namespace weft::reshard
