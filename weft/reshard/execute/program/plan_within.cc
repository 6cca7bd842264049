// SPDX-License-Identifier: Apache-2.0
// Plans whose arrays and messages on their way fit into a budget.
#include <algorithm>

#include "weft/reshard/execute/program/budget.h"
#include "weft/reshard/execute/program/program.h"

namespace weft::reshard::execute {
namespace {

/// Whether what every device has in a layout is part of what it has at one of the ends.
bool rests_at_ends(const Problem& problem, const Layout& layout) {
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

/// The cheapest of plans that fit, and of others the one that needs least.
class Choice {
 public:
  Choice(const Problem& problem, const PlannerOptions& options, Bytes budget)
      : problem_(&problem), options_(&options), budget_(budget) {}

  void offer(Result<Plan> plan) {
    if (!plan) {
      why_not_ = plan.error();
      return;
    }
    const BudgetShare share = budget_share({{problem_, &*plan, {}}}, budget_);
    const bool fits = share.needs <= budget_;
    // What rests leaves less for messages.
    Link link = options_->link;
    link.window = fits ? 2 * share.message : 0;
    settle(*plan, *problem_, link);
    const bool better = !best_ || (fits != fits_ ? fits
                                   : fits        ? plan->time < best_->time
                                                 : share.needs < share_.needs);
    if (!better) return;
    best_ = std::move(*plan);
    fits_ = fits;
    share_ = share;
  }

  bool found() const { return best_.has_value(); }
  bool fits() const { return fits_; }
  const BudgetShare& share() const { return share_; }
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
  BudgetShare share_;
  Error why_not_;
};

Choice choose(const Problem& problem, const PlannerOptions& options, Bytes budget) {
  PlannerOptions within = options;
  within.link.window = budget / 2;
  Choice choice(problem, options, budget);
  const auto offer_resting = [&](Bytes allowed) {
    PlannerOptions careful = within;
    careful.may_rest = [&problem, allowed](const Layout& layout) {
      return layout.largest() * problem.item_size <= allowed || rests_at_ends(problem, layout);
    };
    choice.offer(make_plan(problem, careful));
  };
  // In one round an array may leave staging and another part of it come there.
  offer_resting(budget / 2);
  if (options.direct) return choice;
  if (!problem.target.partial()) {
    // Where nothing rests all of the budget is left for messages.
    PlannerOptions direct = within;
    direct.direct = true;
    choice.offer(make_plan(problem, direct));
  }
  if (!choice.fits()) offer_resting(0);
  // Nothing leads straight to summands, which may rest longer than the budget allows.
  if (!choice.fits()) choice.offer(make_plan(problem, within));
  return choice;
}

/// About the least budget beyond a refused one that some plan fits. What the plans need that were
/// found within that does not tell: another budget leads to other plans, so each is tried. Between
/// budgets that fit lie some that do not, so steps are small.
BudgetShare least_that_fits(const Problem& problem, const PlannerOptions& options, Bytes refused) {
  for (Bytes budget = std::max(refused + 1, 4 * problem.item_size);;
       budget += std::max<Bytes>(1, budget / 32)) {
    const Choice choice = choose(problem, options, budget);
    if (!choice.fits()) continue;
    BudgetShare share = choice.share();
    share.needs = budget;
    return share;
  }
}

}  // namespace

Result<Plan> make_plan_within(const Problem& problem, const PlannerOptions& options, Bytes budget) {
  if (budget == 0) return make_plan(problem, options);
  Choice choice = choose(problem, options, budget);
  if (choice.fits() || !choice.found()) return choice.take();
  return too_little(least_that_fits(problem, options, budget));
}

}  // namespace weft::reshard::execute
