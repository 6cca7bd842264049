// SPDX-License-Identifier: Apache-2.0
// Plans a task in these phases. Each phase is a function that takes the plans known so far and
// returns better plans:
//
//  1. one_stage_phase(): plans with one stage per device (one_stage_search.h). Under memory limits
//     it also tries even stages. It ends with a search for the best order of micro-batches, so that
//     the comparison with the plans of the next phase is fair.
//  2. sharing_phase(): plans whose stages share devices (interleave.h). It starts from the best
//     plans so far, and also ends with a search for the best order.
//  3. finish(): bounds and the final schedule.
//
// A task with memory limits is planned without them first. If the resulting plan keeps to the
// limits, it is the answer, because its bound also holds within limits. So limits that have no
// effect cost little time. As soon as a good plan breaks the limits, the task is planned again
// within them; the second planning uses what the first has learned (FirstPlanning).
#include "weft/pipeline/plan/planner.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "weft/base/counted.h"
#include "weft/pipeline/fit/fitting.h"
#include "weft/pipeline/fit/needs.h"
#include "weft/pipeline/model/limits.h"
#include "weft/pipeline/plan/interleave.h"
#include "weft/pipeline/plan/one_stage_search.h"
#include "weft/pipeline/rivals/device_orders.h"

namespace weft::pipeline {
namespace {

/// Whether stages of a plan may share devices. The requested schedules may not support this.
bool may_share(const Task& task, const PlannerOptions& options) {
  if (options.chunks < 2 || task.chain.size() < 2) return false;
  const auto supports_sharing = [](const std::string& name) {
    return name == "interleaved" || name == "zb-v" || name == "dualpipe-v";
  };
  return options.schedules.empty() ||
         std::any_of(options.schedules.begin(), options.schedules.end(), supports_sharing);
}

/// Most stages per group. No group has more stages than there are layers.
std::int32_t most_chunks(const Task& task, const PlannerOptions& options) {
  return std::min(options.chunks, task.chain.size());
}

FittingLimits fitting_limits(const Task& task, const PlannerOptions& options) {
  FittingLimits limits;
  limits.stages = options.stages;
  limits.replicas = options.replicas;
  limits.chunks = most_chunks(task, options);
  limits.schedules = options.schedules;
  return limits;
}

/// Checks that the requested number of stages is possible, and that all numbers are in range.
Status check_request(const Task& task, const PlannerOptions& options) {
  WEFT_TRY(check_limits(task));
  const std::int32_t layers = task.chain.size(), devices = task.cluster.devices;
  if (options.stages > layers) {
    return fail(ErrorCode::kInfeasible,
                fmt::format("{} are more than the {}", counted(options.stages, "stage"),
                            counted(layers, "layer")));
  }
  const std::int64_t most =
      static_cast<std::int64_t>(may_share(task, options) ? options.chunks : 1) * devices;
  if (options.stages > most) {
    return fail(ErrorCode::kInfeasible,
                fmt::format("{} are more than the {} can have", counted(options.stages, "stage"),
                            counted(devices, "device")));
  }
  return {};
}

/// The error if no phase has found a plan.
tl::unexpected<Error> no_plan(const Task& task, const PlannerOptions& options, Fit fit) {
  if (!task.limit_memory && !options.schedules.empty()) {
    return fail(ErrorCode::kInfeasible,
                fmt::format("no plan with the requested stages and micro-batches can run in the "
                            "order '{}' on these devices",
                            options.schedules.front()));
  }
  if (!task.limit_memory) {
    return fail(ErrorCode::kInfeasible,
                "no choice of devices for the stages has all links that a plan needs");
  }
  if (fit == Fit::kNone) {
    const bool free = options.stages == 0 && options.replicas == 0;
    const std::string sharing =
        may_share(task, options)
            ? fmt::format(", with up to {} stages on the same devices", options.chunks)
            : "";
    return fail(
        ErrorCode::kInfeasible,
        fmt::format("no plan fits into the memory of the devices: however the layers are cut "
                    "into stages{}{}, some stage does not fit; use more devices or smaller "
                    "micro-batches",
                    free ? "" : " as requested", sharing));
  }
  return fail(ErrorCode::kInfeasible,
              "no plan was found that fits into the memory of the devices, but one may exist; use "
              "more devices or smaller micro-batches");
}

/// The plan with the best order of micro-batches that a search finds. Its stages stay the same;
/// under memory limits other stages may recompute.
Evaluated with_best_order(const PlanContext& context, Evaluated best) {
  if (best.step == kNoStep) return best;
  Evaluator& evaluator = context.evaluator;
  evaluator.stop_at(evaluator.ops() + context.budget.micro_batch_order());
  auto searched = evaluator.search(best.stages);
  return searched && searched->step < best.step ? std::move(*searched) : best;
}

/// What planning without memory limits passes on to planning within them.
struct FirstPlanning {
  std::int64_t ops = 0;  ///< effort spent
  /// The bound of plans with one stage per device, unless the search for them has stopped early.
  std::optional<Nanos> bound;
  /// Always has SPP's plans. It can happen that the best plan with one stage per device keeps to
  /// the limits, and only the best plan with shared devices breaks them. Then `plans` also has the
  /// plan with one stage per device, its bound, and whether it is proved to be the best.
  OneStagePlans plans;
};

/// `first` is the best plan with one stage per device of the planning without limits. Times it
/// within the limits. Its order of micro-batches may not fit, so its step may change.
Evaluated timed_within_limits(const PlanContext& context, const Evaluated& first) {
  Evaluated best;
  take_if_shorter(context, first.stages, best);
  return with_best_order(context, std::move(best));
}

/// Phase 1.
OneStagePlans one_stage_phase(const PlanContext& context, const Fitting& fitting,
                              const std::optional<Nanos>& speed_bound, OneStagePlans plans) {
  if (context.options.stages <= context.task.cluster.devices) {
    plans = search_one_stage(context, fitting, speed_bound, std::move(plans));
    if (plans.breaks_memory) return plans;
    if (!plans.exhausted && take_even_plans(context, {Placement::kOnePerDevice}, plans.best)) {
      plans.best = climb(context, context.evaluator.ops() + context.budget.even_climb(),
                         std::move(plans.best));
    }
  }
  plans.best = with_best_order(context, std::move(plans.best));
  return plans;
}

/// If plans with one stage per device do not fit into memory, looks for some plan with shared
/// devices that fits. Small numbers of stages per group are tried first, because such plans are
/// found sooner and are not worse.
struct PackedPlan {
  Fitting fitting;
  Evaluated best;
};
PackedPlan pack_devices(const PlanContext& context) {
  PackedPlan packed;
  // fit_shared_stages() may let stages visit the groups in any order. Schedules that the user
  // requests by name do not support that.
  if (!context.options.schedules.empty()) return packed;
  const std::int32_t most = most_chunks(context.task, context.options);
  FittingLimits limits = fitting_limits(context.task, context.options);
  for (const std::int32_t chunks : std::set{std::min(2, most), std::min(3, most), most}) {
    limits.chunks = chunks;
    Fitting fitting = fit_shared_stages(context.task, limits);
    take_if_shorter(context, fitting.stages, packed.best);
    if (packed.fitting.answer != Fit::kFound) packed.fitting = std::move(fitting);
  }
  return packed;
}

/// Phase 2: looks for plans whose stages share devices. The search starts from the best plan and,
/// if there is one, from `second`.
Evaluated sharing_phase(const PlanContext& context, Evaluated best, Evaluated second) {
  const auto share_from = [&](Evaluated start) {
    const InterleaveLimits limits{most_chunks(context.task, context.options),
                                  context.options.stages, context.options.replicas,
                                  context.evaluator.ops() + context.budget.shared_devices()};
    return interleave(context.task, context.evaluator, limits, device_orders(context.task.cluster),
                      std::move(start));
  };
  best = share_from(std::move(best));
  if (second.step < kNoStep) {
    Evaluated other = share_from(std::move(second));
    if (other.step < best.step) best = std::move(other);
  }
  take_even_plans(context, {Placement::kRoundRobin, Placement::kV}, best);
  return with_best_order(context, std::move(best));
}

/// Phase 3: puts bounds, plan and schedule together. `plans` is the result of phase 1, `best` the
/// best plan of all phases.
Result<Planned> finish(const PlanContext& context, const OneStagePlans& plans, Evaluated best) {
  const Task& task = context.task;
  const PlannerOptions& options = context.options;
  const bool shares = may_share(task, options);
  const Nanos one_stage = plans.best.step;
  Planned planned;
  // The bound of phase 1 does not hold for plans that share devices.
  const Nanos bound = shares ? bound_of_all(task) : plans.bound;
  planned.bound = std::min(bound, best.step);
  planned.one_stage_bound = one_stage < kNoStep ? std::min(plans.bound, one_stage) : planned.bound;
  planned.fixed_stages = options.stages;
  planned.most_replicas = options.replicas;
  planned.most_chunks = shares ? options.chunks : 1;
  WEFT_ASSIGN(planned.schedule, context.evaluator.schedule_of(best));
  planned.plan = std::move(best);
  planned.exhausted = plans.exhausted;
  return planned;
}

/// Runs phase 2 (stages share devices) and phase 3 (bounds and schedule) after phase 1.
Result<Planned> share_and_finish(const PlanContext& context, Fitting fitting,
                                 const OneStagePlans& plans) {
  const bool shares = may_share(context.task, context.options);
  Evaluated best = plans.best;
  if (best.step == kNoStep && context.task.limit_memory && shares) {
    PackedPlan packed = pack_devices(context);
    fitting = std::move(packed.fitting);
    best = std::move(packed.best);
  }
  if (shares && fitting.answer != Fit::kNone) {
    best = sharing_phase(context, std::move(best), plans.before_spp);
  }
  if (best.step == kNoStep) return no_plan(context.task, context.options, fitting.answer);
  return finish(context, plans, std::move(best));
}

/// Plans a task without memory limits. If `with_limits` is set, the plan must keep to the limits of
/// that task. If it does not, returns nullopt, and `first` has what was learned.
Result<std::optional<Planned>> plan_without_limits(const Task& task, const PlannerOptions& options,
                                                   const Task* with_limits, FirstPlanning& first) {
  const SearchBudget budget(task, options.ops, std::nullopt);
  Evaluator evaluator(task, options.schedules);
  const PlanContext context{task, options, budget, evaluator, with_limits};
  OneStagePlans plans = one_stage_phase(context, {}, std::nullopt, {});
  if (!plans.breaks_memory) first.bound = plans.bound;
  std::optional<Planned> planned;
  if (plans.breaks_memory || breaks_memory(context, plans.best)) {
    first.plans.spp_plans = std::move(plans.spp_plans);
  } else {
    WEFT_ASSIGN(planned, share_and_finish(context, {}, plans));
    if (with_limits && !keeps_to_memory(*with_limits, planned->plan, planned->schedule)) {
      planned.reset();
      // A plan with shared devices has broken the limits, but the plan of phase 1 keeps to them.
      if (plans.best.step < kNoStep) {
        first.plans = std::move(plans);
        first.plans.before_spp = {};
      } else {
        first.plans.spp_plans = std::move(plans.spp_plans);
      }
    }
  }
  first.ops = evaluator.ops();
  return planned;
}

/// Plans a task within memory limits, after the plan without limits has turned out to break them.
Result<Planned> plan_within_limits(const Task& task, const PlannerOptions& options,
                                   FirstPlanning first) {
  const SearchBudget budget(task, options.ops, first.ops);
  Evaluator evaluator(task, options.schedules);
  const PlanContext context{task, options, budget, evaluator};
  OneStagePlans plans = std::move(first.plans);
  if (plans.best.step < kNoStep) {
    // The bound holds within limits as well. So if the plan keeps (almost) its step, a search
    // within limits has little to gain and is left out.
    const Nanos without_limits = plans.best.step;
    plans.best = timed_within_limits(context, plans.best);
    if (plans.best.step <= without_limits + without_limits / 256) {
      return share_and_finish(context, {}, plans);
    }
  }
  Fitting fitting;
  if (options.stages <= task.cluster.devices) {
    fitting = fit_stages(task, fitting_limits(task, options));
  }
  plans = one_stage_phase(context, fitting, first.bound, std::move(plans));
  return share_and_finish(context, std::move(fitting), plans);
}

}  // namespace

Nanos bound_of_all(const Task& task) {
  const LayerChain& chain = task.chain;
  const auto path =
      static_cast<double>(chain.forward.back() + chain.backward.back() - chain.weight.back());
  // Each layer's forward and backward may be rounded down by a nanosecond.
  return std::max(least_work(task), static_cast<Nanos>(path / total_speed(task)) -
                                        2 * static_cast<Nanos>(chain.size()));
}

Result<Planned> make_plan(const Task& task, const PlannerOptions& options) {
  WEFT_TRY(check_request(task, options));
  FirstPlanning first;
  if (!task.limit_memory) {
    WEFT_ASSIGN(auto planned, plan_without_limits(task, options, nullptr, first));
    return std::move(*planned);
  }
  if (const auto why = why_nothing_fits(task, options.replicas); !why.empty()) {
    return fail(ErrorCode::kInfeasible, "no plan fits into the memory of the devices: " + why);
  }
  Task unlimited = task;
  unlimited.limit_memory = false;
  WEFT_ASSIGN(auto planned, plan_without_limits(unlimited, options, &task, first));
  if (planned) return std::move(*planned);
  return plan_within_limits(task, options, std::move(first));
}

}  // namespace weft::pipeline
