// SPDX-License-Identifier: Apache-2.0
// Finds plans that fit into a budget. The budget must hold staging between rounds, and messages in
// flight.
//
// The search uses only two simple rules: a limit for each layout that is kept between rounds, and
// the cost of messages that the budget divides. Whether a plan really fits is measured afterwards
// (budget_use()). So several plans are made with different rules, and the cheapest plan that fits
// is used.
#include <algorithm>

#include "weft/reshard/execute/program/budget.h"
#include "weft/reshard/execute/program/program.h"

namespace weft::reshard::execute {
namespace {

/// Whether each device's part of a layout is contained in its part of the source or the target, so
/// that it may need no staging.
bool stays_at_ends(const Problem& problem, const Layout& layout) {
  for (Part part = 0; part < layout.parts(); ++part) {
    if (!layout.holds(part)) continue;
    const Device device = layout.device_of(part);
    const auto within = [&](const Layout& end) {
      return end.further.empty() && end.holds(device) &&
             common_elements(layout, part, end, device) == layout.elements(part);
    };
    const bool source = layout.groups == problem.source.groups && within(problem.source);
    if (!source && (problem.target.partial() || !within(problem.target))) return false;
  }
  return true;
}

/// Keeps the cheapest plan that fits. If no plan fits, keeps the plan that needs the least memory.
class Choice {
 public:
  Choice(const Problem& problem, const PlannerOptions& options, Bytes budget)
      : problem_(&problem), options_(&options), budget_(budget) {}

  void offer(Result<Plan> plan) {
    if (!plan) {
      why_not_ = plan.error();
      return;
    }
    const BudgetUse use = budget_use({{problem_, &*plan, {}}}, budget_);
    const bool fits = use.needs <= budget_;
    // Staging leaves less memory for messages. Price the plan with the messages that it can really
    // use.
    Link link = options_->link;
    link.window = fits ? 2 * use.message : 0;
    update_totals(*plan, *problem_, link);
    const bool better = !best_ || (fits != fits_ ? fits
                                   : fits        ? plan->time < best_->time
                                                 : use.needs < use_.needs);
    if (!better) return;
    best_ = std::move(*plan);
    fits_ = fits;
    use_ = use;
  }

  bool found() const { return best_.has_value(); }
  bool fits() const { return fits_; }
  const BudgetUse& use() const { return use_; }
  Result<Plan> take() {
    if (best_) return std::move(*best_);
    return tl::unexpected(why_not_);
  }

 private:
  const Problem* problem_;
  const PlannerOptions* options_;
  Bytes budget_;
  std::optional<Plan> best_;
  bool fits_ = false;
  BudgetUse use_;
  Error why_not_;
};

Choice choose(const Problem& problem, const PlannerOptions& options, Bytes budget) {
  PlannerOptions within = options;
  within.link.window = budget / 2;
  Choice choice(problem, options, budget);
  const auto offer_with_staging = [&](Bytes allowed) {
    PlannerOptions careful = within;
    careful.layout_allowed = [&problem, allowed](const Layout& layout) {
      return layout.largest() * problem.item_size <= allowed || stays_at_ends(problem, layout);
    };
    choice.offer(make_plan(problem, careful));
  };
  // A round may read one staged layout while it writes another one. So each of the two gets half of
  // the budget.
  offer_with_staging(budget / 2);
  if (options.direct) return choice;
  if (!problem.target.partial()) {
    // A direct plan stages nothing, so all of the budget is left for messages.
    PlannerOptions direct = within;
    direct.direct = true;
    choice.offer(make_plan(problem, direct));
  }
  if (!choice.fits()) offer_with_staging(0);
  // If the target is partial, there is no direct plan. A plan may fit although its layouts need
  // more staging than the rules allow.
  if (!choice.fits()) choice.offer(make_plan(problem, within));
  return choice;
}

/// About the smallest budget above `refused` for which some plan fits. The memory that the plans
/// for `refused` need is not the answer, because another budget leads to other plans. Bisection is
/// impossible, because a budget may be too small although a smaller one is enough. So budgets are
/// tried one after the other, in steps of a 32nd.
BudgetUse least_that_fits(const Problem& problem, const PlannerOptions& options, Bytes refused) {
  for (Bytes budget = std::max(refused + 1, 4 * problem.item_size);;
       budget += std::max<Bytes>(1, budget / 32)) {
    const Choice choice = choose(problem, options, budget);
    if (!choice.fits()) continue;
    BudgetUse use = choice.use();
    use.needs = budget;
    return use;
  }
}

}  // namespace

Result<Plan> make_plan_within(const Problem& problem, const PlannerOptions& options, Bytes budget) {
  if (budget == 0) return make_plan(problem, options);
  Choice choice = choose(problem, options, budget);
  if (choice.fits() || !choice.found()) return choice.take();
  return budget_too_small(least_that_fits(problem, options, budget));
}

}  // namespace weft::reshard::execute
