// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/execute/program/budget.h"

#include <algorithm>
#include <string>

namespace weft::reshard::execute {
namespace {

/// The bytes that stay in staging between rounds, on the device that needs the most.
Bytes staged_between_rounds(const std::vector<Route>& routes) {
  const bool several_turns =
      std::any_of(routes.begin(), routes.end(), [](const Route& route) { return route.turns > 1; });
  if (!several_turns) return 0;
  Bytes most = 0;
  for (Device device = 0; device < routes[0].problem->source.devices(); ++device) {
    std::vector<Placements> placements = placements_of(routes, device);
    most = std::max(most, arrange(placements));
  }
  return most;
}

/// The most bytes that sums need on any device before they are cast to a narrower type, see ends.h.
Bytes widest_sums(const Route& route) {
  const Problem& problem = *route.problem;
  if (target_item(problem) >= problem.item_size) return 0;
  Bytes most = 0;
  for (Device device = 0; device < problem.target.devices(); ++device) {
    most = std::max(most, bytes_of(problem.target, device, problem.item_size));
  }
  return most;
}

/// Whether the sums can be added up slab by slab. Each slab is a separate turn, so every turn must
/// read only the source. This is the case if the route has a single hop.
bool can_use_slabs(const Route& route) {
  const Layout& target = route.problem->target;
  return route.hops.size() == 1 && !target.partial() && target.further.empty();
}

/// Places for the sums of all arrays that are cast to a narrower type, in slabs of at most `most`
/// bytes each. They lie in staging after the first `staged` bytes. Adds their size to `staged`.
std::vector<SlabSums> slab_sums(const std::vector<Route>& routes, Bytes most, Bytes& staged) {
  std::vector<SlabSums> all(routes.size());
  for (std::size_t i = 0; i < routes.size(); ++i) {
    if (widest_sums(routes[i]) == 0) continue;
    const Bytes item = routes[i].problem->item_size;
    constexpr Bytes kSlabAlign = 16;
    all[i].slabs = Slabs(routes[i].problem->target, std::max<Bytes>(1, most / item));
    all[i].offset = (staged + kSlabAlign - 1) / kSlabAlign * kSlabAlign;
    staged = all[i].offset + all[i].slabs->elements() * item;
  }
  return all;
}

ProgramBudget split_budget(const std::vector<Route>& routes, Bytes budget) {
  ProgramBudget use;
  use.sums.resize(routes.size());
  Bytes item = 0, casts = 0;
  std::int64_t narrowing = 0;
  bool divisible = true;
  for (const Route& route : routes) {
    if (route.sends) item = std::max(item, route.problem->item_size);
    const Bytes cast = widest_sums(route);
    if (cast == 0) continue;
    casts += cast;
    divisible = divisible && can_use_slabs(route);
    ++narrowing;
  }
  const Bytes staged = staged_between_rounds(routes), messages = 4 * item;
  use.staged = staged + casts;
  use.needs = use.staged + messages;
  if (budget > 0 && use.needs > budget && narrowing > 0 && divisible) {
    Bytes least = staged;
    slab_sums(routes, 0, least);
    use.needs = std::min(use.needs, least + messages);
    // Give sums as many bytes as messages, unless even the smallest messages would not fit then.
    const Bytes left = budget - staged;
    const Bytes most = std::min(left / 2, left - messages) / narrowing - (narrowing > 1 ? 16 : 0);
    use.staged = staged;
    use.sums = slab_sums(routes, most, use.staged);
  }
  use.message = std::max<Bytes>(0, budget - use.staged) / 4;
  return use;
}

/// Returns an Error (kInfeasible) if there are too many slabs, because each slab is a turn of all
/// devices.
Status check_slabs(const ProgramBudget& use, Bytes budget) {
  constexpr std::int64_t kMostSlabs = 1 << 16;
  for (const SlabSums& sums : use.sums) {
    if (!sums.slabs || sums.slabs->count() <= kMostSlabs) continue;
    return fail(ErrorCode::kInfeasible,
                "the budget divides sums that are cast to a narrower type into " +
                    std::to_string(sums.slabs->count()) +
                    " slabs, which is too many; allow at least " +
                    std::to_string(budget * (sums.slabs->count() / kMostSlabs + 1)) + " bytes");
  }
  return {};
}

}  // namespace

Bytes bytes_of(const Layout& layout, Device device, Bytes item) {
  std::int64_t elements = 0;
  for (const Part part : parts_of(layout, device)) elements += layout.elements(part);
  return elements * item;
}

std::vector<Route> routes_of(const std::vector<Array>& arrays) {
  std::vector<Route> routes;
  for (const Array& array : arrays) routes.push_back(make_route(*array.problem, *array.plan));
  return routes;
}

std::vector<Placements> placements_of(const std::vector<Route>& routes, Device device) {
  std::vector<Placements> all;
  for (const Route& route : routes) all.push_back(find_placements(route, device));
  return all;
}

Bytes arrange(std::vector<Placements>& placements) {
  std::vector<Block*> blocks;
  for (Placements& item : placements) {
    for (Block& block : item.blocks) blocks.push_back(&block);
  }
  return arrange(blocks);
}

tl::unexpected<Error> budget_too_small(const BudgetUse& use) {
  std::string what;
  if (use.staged > 0) {
    what = "the " + std::to_string(use.staged) + " bytes that a device stages between rounds";
  }
  if (use.needs > use.staged) {
    what += std::string(what.empty() ? "" : " and ") + "four messages of one element each";
  }
  return fail(ErrorCode::kInfeasible, "the budget is too small for " + what + "; allow at least " +
                                          std::to_string(use.needs) + " bytes");
}

Result<ProgramBudget> program_budget(const std::vector<Route>& routes, Bytes budget) {
  if (budget == 0) {
    // Without a budget it does not matter how much other devices stage.
    ProgramBudget none;
    none.sums.resize(routes.size());
    return none;
  }
  ProgramBudget use = split_budget(routes, budget);
  if (use.needs > budget) return budget_too_small(use);
  WEFT_TRY(check_slabs(use, budget));
  return use;
}

Bytes staged_bytes(const std::vector<Array>& arrays) { return budget_use(arrays, 0).staged; }

BudgetUse budget_use(const std::vector<Array>& arrays, Bytes budget) {
  return split_budget(routes_of(arrays), budget);
}

}  // namespace weft::reshard::execute
