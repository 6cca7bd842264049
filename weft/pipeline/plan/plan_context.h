// SPDX-License-Identifier: Apache-2.0
// PlanContext holds what the phases of one planning share: the task, the options, the budget and
// the evaluator. Plans and bounds are not part of it; each phase takes them as arguments and
// returns new ones.
#pragma once

#include <initializer_list>

#include "weft/pipeline/plan/budget.h"
#include "weft/pipeline/plan/evaluate.h"
#include "weft/pipeline/plan/improve.h"
#include "weft/pipeline/plan/planner.h"
#include "weft/pipeline/rivals/rivals.h"

namespace weft::pipeline {

struct PlanContext {
  const Task& task;
  const PlannerOptions& options;
  const SearchBudget& budget;
  Evaluator& evaluator;  ///< counts the effort and remembers the plans that it has timed
  /// Usually null. A task with memory limits is first planned without these limits. During
  /// this first planning, `with_limits` is the task with the limits.
  const Task* with_limits = nullptr;
};

/// `plan` was made without memory limits. Returns whether it also fits within the limits of `task`
/// without a longer step. First the given schedule is tried, then the schedule that plan_schedule()
/// builds within the limits. If only the second one fits, it replaces `schedule`.
bool keeps_to_memory(const Task& task, const Evaluated& plan, Schedule& schedule);

/// Whether the plan breaks the limits of PlanContext::with_limits. False if there are no limits or
/// no plan.
bool breaks_memory(const PlanContext& context, const Evaluated& plan);

/// Replaces `best` by the plan with these stages if this plan has a shorter step. Does nothing if
/// `stages` is empty or does not have the required number of stages.
void take_if_shorter(const PlanContext& context, const std::vector<PlannedStage>& stages,
                     Evaluated& best);

/// Under memory limits, tries plans with even stages on these placements. They may be far better
/// than what the searches find under tight limits. Returns whether `best` was replaced. Without
/// limits, and for large clusters, it does nothing.
bool take_even_plans(const PlanContext& context, std::initializer_list<Placement> placements,
                     Evaluated& best);

/// Local search from a plan until the counter of ops reaches `until`.
Evaluated climb(const PlanContext& context, std::int64_t until, Evaluated plan);

/// The sum of the speeds of all devices.
double total_speed(const Task& task);

/// A lower bound of the step: the time of all work if it is spread evenly over all devices. The
/// error that rounding times to whole nanoseconds may cause is subtracted. The result is never
/// negative.
Nanos least_work(const Task& task);

}  // namespace weft::pipeline
