// SPDX-License-Identifier: Apache-2.0
// Constructs normal forms. At first, only sizes matter: for each prime, how often it cuts each
// dimension at the source and at the target.
//   1. A dimension that a prime cuts too often is paired with a dimension that it cuts too rarely.
//      Each pair is an all-to-all. After that, a prime may still cut dimensions too often (then
//      all-gathers remove it) or too rarely (then slices add it), but never both.
//   2. Slices are applied from the front. All-gathers are undone from the back, starting at the
//      target. Now the types at the front and at the back have parts of the same size.
//   3. All-to-alls are undone from the back as long as the right prime is on top of the stack, then
//      applied from the front.
//   4. One step connects the two types that remain: a permute if all all-to-alls were used,
//      otherwise a general exchange.
// docs/design/reshard.md has the proof that this always works.
#include "weft/reshard/search/normal_form.h"

#include <algorithm>
#include <map>

#include "weft/reshard/search/collectives.h"

namespace weft::reshard {
namespace {

/// A prime that must move from one dimension to another.
struct Move {
  std::size_t from, to;
  std::int32_t prime;
};

/// What has to change, in terms of primes. Later steps decide which factor with this prime is used.
struct Changes {
  std::vector<Move> moves;
  std::vector<std::pair<std::size_t, std::int32_t>> slices, gathers;  ///< dimension and prime
};

Changes changes(const FactoredProblem& factored) {
  // Indexed by prime: the dimensions that it cuts too often, and the dimensions that it cuts too
  // rarely. If it cuts a dimension k times too often or too rarely, the dimension is listed k
  // times.
  std::map<std::int32_t, std::vector<std::size_t>> surplus, deficit;
  for (std::size_t dim = 0; dim < factored.from.dims.size(); ++dim) {
    std::map<std::int32_t, int> more;
    for (const Factor factor : factored.from.dims[dim]) ++more[factored.factors.radix[factor]];
    for (const Factor factor : factored.to.dims[dim]) --more[factored.factors.radix[factor]];
    for (const auto& [prime, count] : more) {
      for (int i = 0; i < count; ++i) surplus[prime].push_back(dim);
      for (int i = 0; i > count; --i) deficit[prime].push_back(dim);
    }
  }
  Changes found;
  for (auto& [prime, dims] : surplus) {
    std::vector<std::size_t>& lacking = deficit[prime];
    while (!dims.empty() && !lacking.empty()) {
      found.moves.push_back({dims.back(), lacking.back(), prime});
      dims.pop_back();
      lacking.pop_back();
    }
    for (const std::size_t dim : dims) found.gathers.emplace_back(dim, prime);
  }
  for (const auto& [prime, dims] : deficit) {
    for (const std::size_t dim : dims) found.slices.emplace_back(dim, prime);
  }
  return found;
}

/// An unused factor with this prime. If there are several, preferably a factor of `wanted`.
Factor pick(const Factors& factors, const Type& type, std::int32_t prime,
            const FactorList& wanted) {
  Factor picked = 0;
  for (const Factor factor : unused(factors, type)) {
    if (factors.radix[factor] != prime) continue;
    picked = factor;
    if (wanted.has(factor)) break;
  }
  return picked;
}

/// Applies every move whose prime is on top of the stack of the dimension that it leaves, until no
/// move can be applied. Removes the applied moves from `moves`. If `backward`, undoes moves from
/// the target instead. After each move, goes through the list from the front again: the move has
/// popped a prime from a stack, and the new top may be the prime of an earlier entry.
std::vector<TypedStep> make_moves(const Factors& factors, Type& type, std::vector<Move>& moves,
                                  bool backward) {
  std::vector<TypedStep> steps;
  for (std::size_t i = 0; i < moves.size();) {
    const std::size_t from = backward ? moves[i].to : moves[i].from;
    const std::size_t to = backward ? moves[i].from : moves[i].to;
    if (type.dims[from].empty() || factors.radix[type.dims[from].back()] != moves[i].prime) {
      ++i;
      continue;
    }
    const Type before = type;
    type = *all_to_all(type, from, to);
    steps.push_back({Op::kAllToAll, backward ? before : type});
    moves.erase(moves.begin() + static_cast<std::ptrdiff_t>(i));
    i = 0;
  }
  if (backward) std::reverse(steps.begin(), steps.end());
  return steps;
}

}  // namespace

std::optional<std::vector<TypedStep>> normal_form(const FactoredProblem& factored) {
  const Type &from = factored.from, &to = factored.to;
  if (from.side != to.side || !from.partial.empty() || !to.partial.empty()) return std::nullopt;
  const Factors& factors = factored.factors;
  Changes todo = changes(factored);
  std::vector<TypedStep> steps;
  Type front = from;
  for (const auto& [dim, prime] : todo.slices) {
    front = *dynamic_slice(factors, front, dim, pick(factors, front, prime, to.dims[dim]));
    steps.push_back({Op::kDynamicSlice, front});
  }
  std::vector<TypedStep> gathers;
  Type back = to;
  for (const auto& [dim, prime] : todo.gathers) {
    gathers.push_back({Op::kAllGather, back});
    back = *dynamic_slice(factors, back, dim, pick(factors, back, prime, from.dims[dim]));
  }
  std::reverse(gathers.begin(), gathers.end());

  const std::vector<TypedStep> late = make_moves(factors, back, todo.moves, true);
  const std::vector<TypedStep> early = make_moves(factors, front, todo.moves, false);
  steps.insert(steps.end(), early.begin(), early.end());
  if (front != back) {
    const bool permute = todo.moves.empty();
    steps.push_back({permute ? Op::kAllPermute : Op::kExchange, back});
  }
  steps.insert(steps.end(), late.begin(), late.end());
  steps.insert(steps.end(), gathers.begin(), gathers.end());
  return steps;
}

std::optional<Plan> normal_plan(const Problem& problem, const FactoredProblem& factored,
                                TypeLayouts& layouts, const Link& link, OverlapCache& overlaps) {
  const auto steps = normal_form(factored);
  if (!steps || !layouts.consistent()) return std::nullopt;
  Plan plan;
  LayoutPtr at = layouts.layout(factored.from);
  for (const TypedStep& step : *steps) {
    const LayoutPtr next = layouts.layout(step.type);
    plan.steps.push_back({step.op, {next}, traffic(*at, *next, overlaps)});
    at = next;
  }
  update_totals(plan, problem, link);
  if (plan.peak > std::max(problem.source.largest(), problem.target.largest())) {
    return std::nullopt;
  }
  return plan;
}

}  // namespace weft::reshard
