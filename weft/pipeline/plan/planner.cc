// SPDX-License-Identifier: Apache-2.0
#include "weft/pipeline/plan/planner.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <utility>

#include "weft/base/counted.h"
#include "weft/pipeline/fit/fitting.h"
#include "weft/pipeline/fit/needs.h"
#include "weft/pipeline/model/limits.h"
#include "weft/pipeline/plan/capacity.h"
#include "weft/pipeline/plan/improve.h"
#include "weft/pipeline/plan/interleave.h"
#include "weft/pipeline/plan/plan_search.h"
#include "weft/pipeline/rivals/bottleneck.h"
#include "weft/pipeline/rivals/device_orders.h"
#include "weft/pipeline/rivals/rivals.h"

namespace weft::pipeline {
namespace {

/// Above this many devices groups grow in steps, and plans follow the bound.
constexpr std::int32_t kMostExact = 64;
/// Up to so many devices all sets of them are tried at once.
constexpr std::int32_t kQuicklyFree = 8;
/// Layers up to which more devices than that are: the sums take 200 MB then.
constexpr std::int32_t kMostFreeLayers = 100;

double speed_of_all(const Task& task) {
  double speed = 0;
  for (const double each : task.cluster.speed) speed += each;
  return speed;
}

/// All devices busy all the time, but for what rounding of times may hide; never below nothing.
Nanos least_work(const Task& task) {
  const LayerChain& chain = task.chain;
  const auto work = static_cast<double>(chain.forward.back() + chain.backward.back());
  const Nanos hidden = 4 * static_cast<Nanos>(task.cluster.devices) * task.micro_batches;
  return std::max<Nanos>(
      static_cast<Nanos>(work * task.micro_batches / speed_of_all(task)) - hidden, 0);
}

/// Whether a plan made without limits of memory keeps to them in the time that it took without, in
/// its order or in that which its kind has within them.
bool keeps_to_memory(const Task& task, const Evaluated& plan, Schedule& schedule) {
  const auto pipeline = pipeline_of(task, plan.stages);
  if (!pipeline) return false;
  if (fits(*pipeline, schedule)) return true;
  auto within = plan_schedule(*pipeline, plan.schedule);
  if (!within) return false;
  const auto timeline = simulate(*pipeline, *within);
  if (!timeline || !fits(*pipeline, *timeline) || timeline->makespan != plan.step) return false;
  schedule = std::move(*within);
  return true;
}

class Planner {
 public:
  /// `free`: has planned the same without limits of memory.
  Planner(const Task& task, const PlannerOptions& options, Planner* free = nullptr)
      : task_(task), options_(options), evaluator_(task, options.schedules) {
    if (free) {
      if (!free->breaks_limits_) known_bound_ = free->bound_;
      bottlenecks_ = std::move(free->bottlenecks_);
      if (free->kept_.step < kNoStep) {
        kept_ = std::move(free->kept_);
        bound_ = free->bound_;
        exhausted_ = free->exhausted_;
      }
    }
    limits_.replicas = options.replicas;
    if (options_.ops == 0) {
      options_.ops = usual_ops();
      least_to_share_ = 500'000;
      // Much that is tried does not fit.
      if (free && task.cluster.devices <= kMostExact) {
        options_.ops = std::max(options_.ops, 2 * options_.ops - free->evaluator_.ops());
        if (task.cluster.devices > kMostFree) {  // and what is tried takes longer there
          options_.ops = options_.ops * 3 / 4;
          least_to_share_ = 300'000;
        }
      }
    }
  }

  Result<Planned> run() {
    WEFT_TRY(check());
    if (!keeps_known_plan()) search_without_sharing();
    return share_and_finish();
  }

  /// The same within the limits of `task`, which is not the planner's own: nothing where a good
  /// plan on the way breaks them, or the best one.
  Result<std::optional<Planned>> run_within(const Task& task) {
    WEFT_TRY(check());
    if (auto why = why_nothing_fits(task, options_.replicas); !why.empty()) {
      return fail(ErrorCode::kInfeasible, "no plan fits into the memory of the devices: " + why);
    }
    within_ = &task;
    search_without_sharing();
    if (breaks_limits_ || breaks_limits(best_)) return std::nullopt;
    kept_ = best_;
    WEFT_ASSIGN(Planned planned, share_and_finish());
    if (!keeps_to_memory(task, planned.plan, planned.schedule)) return std::nullopt;
    return planned;
  }

 private:
  bool breaks_limits(const Evaluated& plan) {
    if (!within_ || plan.step == kNoStep) return false;
    auto schedule = evaluator_.schedule_of(plan);
    return schedule && !keeps_to_memory(*within_, plan, *schedule);
  }

  /// What was planned without limits and keeps to them needs no other search: nothing that one of
  /// all plans with one stage a device would find within them is known to be better.
  bool keeps_known_plan() {
    if (kept_.step == kNoStep) return false;
    take(kept_.stages);
    search_order();
    one_stage_ = best_.step;
    return best_.step <= kept_.step + kept_.step / 256;  // its order of micro-batches may not fit
  }

  void search_without_sharing() {
    if (options_.stages <= task_.cluster.devices) search_one_stage();
    if (breaks_limits_) return;
    if (options_.stages <= task_.cluster.devices) climb_from_even();
    search_order();
    one_stage_ = best_.step;
  }

  Result<Planned> share_and_finish() {
    if (best_.step == kNoStep && task_.limit_memory && may_share()) pack_devices();
    if (may_share() && fitted_.answer != Fit::kNone) {
      share_devices();
      take_even({Placement::kRoundRobin, Placement::kV});
      search_order();
    }
    if (best_.step == kNoStep) return no_plan();
    return finished();
  }

  /// Plans with one stage a device.
  void search_one_stage() {
    if (task_.limit_memory) fitted_ = fit_stages(task_, fitting_limits());
    if (fitted_.answer == Fit::kNone) return;
    if (all_alike(task_.cluster) && task_.cluster.devices <= kMostExact) {
      const GroupGraph graph = ordered_groups(task_.cluster, plain_order(), limits_);
      search_all(graph, options_.ops);
      climb_from_bottlenecks(graph);
    } else if (task_.cluster.devices <= kQuicklyFree) {
      search_all(free_groups(task_.cluster, limits_), options_.ops);
      const auto order = device_orders(task_.cluster).front();
      climb_from_bottlenecks(ordered_groups(task_.cluster, order, limits_));
    } else if (task_.cluster.devices <= kMostFree && task_.chain.size() <= kMostFreeLayers) {
      // What is found along orders makes the search among all sets short.
      search_orders();
      if (!breaks_limits_) search_all(free_groups(task_.cluster, limits_), 2 * options_.ops);
    } else if (task_.cluster.devices <= kMostExact) {
      search_orders();
    } else {
      search_large();
    }
  }

  /// The last word on the order of micro-batches. Plans with one stage a device have it before
  /// others are compared with them.
  void search_order() {
    if (best_.step == kNoStep) return;
    evaluator_.stop_at(evaluator_.ops() + options_.ops / 4);  // of what to compute again
    auto searched = evaluator_.search(best_.stages);
    if (searched && searched->step < best_.step) best_ = std::move(*searched);
  }

  Result<Planned> finished() {
    Planned planned;
    const Nanos bound = may_share() ? bound_of_all(task_) : bound_;
    planned.bound = std::min(bound, best_.step);
    planned.one_stage_bound = one_stage_ < kNoStep ? std::min(bound_, one_stage_) : planned.bound;
    planned.fixed_stages = options_.stages;
    planned.most_replicas = options_.replicas;
    planned.most_chunks = may_share() ? options_.chunks : 1;
    WEFT_ASSIGN(planned.schedule, evaluator_.schedule_of(best_));
    planned.plan = std::move(best_);
    planned.exhausted = exhausted_;
    return planned;
  }

  std::vector<std::int32_t> plain_order() const {
    std::vector<std::int32_t> order(task_.cluster.devices);
    std::iota(order.begin(), order.end(), 0);
    return order;
  }

  /// Orders of micro-batches that were asked for may have no place for it.
  bool may_share() const {
    if (options_.chunks < 2 || task_.chain.size() < 2) return false;
    const auto shares = [](const std::string& name) {
      return name == "interleaved" || name == "zb-v" || name == "dualpipe-v";
    };
    return options_.schedules.empty() ||
           std::any_of(options_.schedules.begin(), options_.schedules.end(), shares);
  }

  void share_devices() {
    const std::int64_t ops = options_.ops / (is_large() ? 32 : 4);
    const auto shared = [&](Evaluated plan) {
      const InterleaveLimits limits{chunks(), options_.stages, options_.replicas,
                                    evaluator_.ops() + std::max(ops, least_to_share_)};
      return interleave(task_, evaluator_, limits, device_orders(task_.cluster), std::move(plan));
    };
    best_ = shared(std::move(best_));
    if (other_.step == kNoStep) return;
    Evaluated from_other = shared(std::move(other_));
    if (from_other.step < best_.step) best_ = std::move(from_other);
  }

  bool is_large() const { return task_.cluster.devices > kMostExact; }

  /// So that 64 layers on 16 devices stay well below 100 ms.
  std::int64_t usual_ops() const {
    const std::int32_t devices = task_.cluster.devices;
    if (devices <= kQuicklyFree) return 12'000'000;
    if (devices <= kMostFree) return 4'000'000;
    if (devices <= 16) {
      const std::int64_t size = static_cast<std::int64_t>(task_.chain.size()) * devices;
      return 500'000 * std::clamp<std::int64_t>(1024 / size, 1, 8);
    }
    return devices <= 32 ? 16'000'000 : 32'000'000;
  }

  Status check() const {
    WEFT_TRY(check_limits(task_));
    const std::int32_t layers = task_.chain.size(), devices = task_.cluster.devices;
    if (options_.stages > layers) {
      return fail(ErrorCode::kInfeasible,
                  fmt::format("{} are more than the {}", counted(options_.stages, "stage"),
                              counted(layers, "layer")));
    }
    const std::int64_t most =
        static_cast<std::int64_t>(may_share() ? options_.chunks : 1) * devices;
    if (options_.stages > most) {
      return fail(ErrorCode::kInfeasible,
                  fmt::format("{} are more than the {} can have", counted(options_.stages, "stage"),
                              counted(devices, "device")));
    }
    return {};
  }

  tl::unexpected<Error> no_plan() const {
    if (!task_.limit_memory && !options_.schedules.empty()) {
      return fail(ErrorCode::kInfeasible,
                  fmt::format("no plan runs in the order '{}' on these devices, with the stages "
                              "and micro-batches asked for",
                              options_.schedules.front()));
    }
    if (!task_.limit_memory) {
      return fail(ErrorCode::kInfeasible, "no devices with links between them can hold the stages");
    }
    if (fitted_.answer == Fit::kNone) {
      const bool free = options_.stages == 0 && options_.replicas == 0;
      return fail(
          ErrorCode::kInfeasible,
          fmt::format(
              "no plan fits into the memory of the devices: of all ways to cut the "
              "layers into stages{}{} none leaves each stage devices that hold it; "
              "take more of them or smaller micro-batches",
              free ? "" : " as asked for",
              may_share() ? fmt::format(", up to {} on the same devices,", options_.chunks) : ""));
    }
    return fail(ErrorCode::kInfeasible,
                "no plan was found that fits into the memory of the devices, though there may be "
                "one: take more of them or smaller micro-batches");
  }

  /// No group has more stages than there are layers.
  std::int32_t chunks() const { return std::min(options_.chunks, task_.chain.size()); }

  FittingLimits fitting_limits() const {
    FittingLimits limits;
    limits.stages = options_.stages;
    limits.replicas = options_.replicas;
    limits.chunks = chunks();
    limits.schedules = options_.schedules;
    return limits;
  }

  /// Where no plan with one stage a device was found: any that fits with more, few of them first,
  /// which are as good as many and sooner found.
  void pack_devices() {
    fitted_ = {};
    if (!options_.schedules.empty()) return;  // their places are not any
    FittingLimits limits = fitting_limits();
    const std::set<std::int32_t> numbers{std::min(2, chunks()), std::min(3, chunks()), chunks()};
    for (const std::int32_t number : numbers) {
      limits.chunks = number;
      Fitting fitted = fit_shared_stages(task_, limits);
      take(fitted.stages);
      if (fitted_.answer != Fit::kFound) fitted_ = std::move(fitted);
    }
  }

  ImproveLimits improve_limits(std::int64_t ops) const {
    return {options_.stages, options_.replicas, ops};
  }

  void take(const std::vector<PlannedStage>& stages) {
    if (stages.empty()) return;
    if (options_.stages > 0 && static_cast<std::int32_t>(stages.size()) != options_.stages) return;
    const auto result = evaluator_.improve(stages, best_.step);
    if (result && result->step < best_.step) best_ = *result;
  }

  /// Within tight memory, what is no more than even may be far better than what a search comes to.
  /// True: it was.
  bool take_even(std::initializer_list<Placement> placements) {
    if (!task_.limit_memory || is_large()) return false;
    const Nanos before = best_.step;
    evaluator_.stop_at(evaluator_.ops() + options_.ops / 16);
    for (const Placement placement : placements) {
      const auto plans = even_stages(task_, placement);
      if (!plans) continue;
      for (const auto& stages : *plans) take(stages);
    }
    return best_.step < before;
  }

  void climb_from_even() {
    if (exhausted_ || !take_even({Placement::kOnePerDevice})) return;
    const ImproveLimits limits = improve_limits(evaluator_.ops() + options_.ops / 4);
    best_ = improve(task_, evaluator_, limits, std::move(best_));
  }

  /// Those of SPP, along one order of devices, so that no plan is worse.
  void take_bottlenecks(const GroupGraph& graph) {
    const std::int32_t most = std::min(task_.chain.size(), task_.cluster.devices);
    if (bottlenecks_.empty()) bottlenecks_ = bottleneck_plans(task_, graph, most);
    evaluator_.stop_at(Evaluator::kNoEnd);
    for (const auto& plan : bottlenecks_) take(plan);
  }

  /// A search that ends early may miss them.
  void climb_from_bottlenecks(const GroupGraph& graph) {
    if (exhausted_ || breaks_limits_ || best_.step <= bound_) return;
    Evaluated before = best_;
    take_bottlenecks(graph);
    if (best_.step == before.step) return;
    other_ = std::move(before);
    const ImproveLimits limits = improve_limits(evaluator_.ops() + options_.ops / 4);
    best_ = improve(task_, evaluator_, limits, std::move(best_));
  }

  /// A graph that holds all plans: what is searched to the end is proved. A first good plan makes
  /// the search short.
  void search_all(const GroupGraph& graph, std::int64_t ops) {
    const Lookahead lookahead(task_, graph, options_.stages, best_.step);
    take(follow_bound(lookahead));
    if (best_.step == kNoStep) take(fitted_.stages);
    if (best_.step < kNoStep) {
      best_ = improve(task_, evaluator_, improve_limits(ops / 4), std::move(best_));
      breaks_limits_ = breaks_limits(best_);
      if (breaks_limits_) return;
    }
    FoundPlan found = search_plans(lookahead, evaluator_, effort(ops), std::move(best_));
    best_ = std::move(found.best);
    bound_ = std::max(bound_, found.bound);
    exhausted_ = found.exhausted;
    if (!exhausted_ && best_.step < kNoStep) {
      best_ = improve(task_, evaluator_, improve_limits(ops + ops / 4), std::move(best_));
    }
  }

  PlanEffort effort(std::int64_t ops) const {
    PlanEffort effort;
    effort.ops = ops;
    // Parts of plans that are looked at take time as well.
    if (task_.cluster.devices > kMostFree) effort.children = std::min(effort.children, ops);
    return effort;
  }

  /// Those in which good links lie side by side, and where devices have unequal memory one along
  /// which a plan fits.
  std::vector<std::vector<std::int32_t>> orders_of_devices() const {
    auto orders = device_orders(task_.cluster);
    const auto& memory = task_.cluster.memory;
    if (fitted_.answer != Fit::kFound ||
        std::count(memory.begin(), memory.end(), memory.front()) == std::ssize(memory)) {
      return orders;
    }
    std::vector<std::int32_t> order;
    for (const PlannedStage& stage : fitted_.stages) {
      order.insert(order.end(), stage.devices.begin(), stage.devices.end());
    }
    for (const std::int32_t device : orders.front()) {
      if (std::find(order.begin(), order.end(), device) == order.end()) order.push_back(device);
    }
    if (std::find(orders.begin(), orders.end(), order) == orders.end()) orders.push_back(order);
    return orders;
  }

  void search_orders() {
    const auto orders = orders_of_devices();
    std::vector<Evaluated> starts;
    take_bottlenecks(ordered_groups(task_.cluster, orders.front(), limits_));
    breaks_limits_ = breaks_limits(best_);  // so will those that take less
    if (breaks_limits_) return;
    if (best_.step < kNoStep) starts.push_back(best_);
    best_ = {};
    const GroupGraph dreamt = best_groups(task_.cluster, limits_);
    // What takes longer than a plan that is known need not be told apart.
    const Nanos limit = starts.empty() ? kNoPlan : starts.front().step;
    const Nanos least = Lookahead(task_, dreamt, options_.stages, limit).least();
    bound_ = std::max(std::min(least, limit), least_work(task_));
    for (std::size_t i = 0; i < orders.size(); ++i) {
      const GroupGraph graph = ordered_groups(task_.cluster, orders[i], limits_);
      const Lookahead lookahead(task_, graph, options_.stages, limit);
      take(follow_bound(lookahead));
      const auto share = options_.ops / 3 * static_cast<std::int64_t>(i + 1) /
                         static_cast<std::int64_t>(orders.size());
      PlanEffort part;
      part.ops = share;
      part.children = std::min(part.children / 8, options_.ops / (task_.limit_memory ? 12 : 4));
      part.schedules = false;
      FoundPlan found = search_plans(lookahead, evaluator_, part, std::move(best_));
      breaks_limits_ = breaks_limits(found.best);
      if (breaks_limits_) return;
      if (found.best.step < kNoStep) starts.push_back(std::move(found.best));
      best_ = {};
    }
    if (starts.empty()) take(fitted_.stages);
    if (best_.step < kNoStep) starts.push_back(std::exchange(best_, {}));
    std::stable_sort(starts.begin(), starts.end(),
                     [](const Evaluated& a, const Evaluated& b) { return a.step < b.step; });
    for (std::size_t i = 0; i < starts.size() && best_.step > bound_; ++i) {
      const auto share = options_.ops / 3 + options_.ops / 3 * static_cast<std::int64_t>(i + 1) /
                                                static_cast<std::int64_t>(starts.size());
      Evaluated better = improve(task_, evaluator_, improve_limits(share), starts[i]);
      if (better.step < best_.step) best_ = std::move(better);
    }
    if (best_.step < kNoStep) shake();
    if (bound_ < best_.step && task_.chain.size() <= kMostCapacityLayers) {
      bound_ = bound_by_speed(dreamt);
    }
  }

  Nanos bound_by_speed(const GroupGraph& dreamt) const {
    std::vector<GroupCost> replicas;
    for (const Group& group : dreamt) {
      if (group.first) replicas.push_back(group.cost);
    }
    // Whatever memory allows: what is known without limits is known.
    const Nanos high = std::min(best_.step, 2 * bound_);
    if (known_bound_) return std::max(bound_, std::min(*known_bound_, high));
    return capacity_bound(task_, replicas, options_.stages, bound_, high);
  }

  /// Leaves the best plan by a few devices that change places, and climbs again, as long as the
  /// effort lasts.
  void shake() {
    std::mt19937 random(1);
    while (evaluator_.ops() < options_.ops && best_.step > bound_) {
      Evaluated plan = best_;
      for (int times = 1 + static_cast<int>(random() % 3); times > 0; --times) {
        PlannedStage& a = plan.stages[random() % plan.stages.size()];
        PlannedStage& b = plan.stages[random() % plan.stages.size()];
        std::swap(a.devices[random() % a.devices.size()], b.devices[random() % b.devices.size()]);
        std::sort(a.devices.begin(), a.devices.end());
        std::sort(b.devices.begin(), b.devices.end());
      }
      const auto start = evaluator_.evaluate(plan.stages);
      if (!start) continue;
      const std::int64_t ops = std::min(options_.ops, evaluator_.ops() + options_.ops / 20);
      Evaluated better = improve(task_, evaluator_, improve_limits(ops), *start);
      if (better.step < best_.step) best_ = std::move(better);
    }
  }

  /// Many devices: stages of one to four times 1, 2, 4 ... devices.
  void search_large() {
    bound_ = least_work(task_);
    for (const auto& order : orders_of_devices()) {
      // Large units first: they are few, and what they reach limits the others.
      std::int32_t unit = 1;
      while (2 * unit <= (limits_.replicas > 0 ? limits_.replicas : task_.cluster.devices))
        unit *= 2;
      for (; unit >= 1; unit /= 2) {
        GroupLimits limits = limits_;
        limits.unit = unit;
        limits.sizes = 4;
        const GroupGraph graph = ordered_groups(task_.cluster, order, limits);
        take(follow_bound(Lookahead(task_, graph, options_.stages, best_.step)));
      }
    }
    if (best_.step == kNoStep) take(fitted_.stages);
    if (best_.step < kNoStep) {
      // Within limits of memory an evaluation tries what to compute again, which is many in one.
      const std::int64_t effort = (task_.limit_memory ? 2 : 14) * options_.ops;
      ImproveLimits limits = improve_limits(evaluator_.ops() + effort);
      limits.devices = false;
      best_ = improve(task_, evaluator_, limits, std::move(best_));
    }
  }

  const Task& task_;
  PlannerOptions options_;
  GroupLimits limits_;
  Evaluator evaluator_;
  std::int64_t least_to_share_ = 0;
  std::optional<Nanos> known_bound_;                    ///< by speed, as far as that was worked out
  std::vector<std::vector<PlannedStage>> bottlenecks_;  ///< of SPP
  const Task* within_ = nullptr;  ///< limits that plans made without should keep to
  bool breaks_limits_ = false;    ///< a good one did not
  Fitting fitted_;                ///< what fits into memory, as far as that is known
  Evaluated best_ = {};
  Evaluated kept_ = {};   ///< the best with one stage a device, made without limits, within them
  Evaluated other_ = {};  ///< the best that a search of all plans found, where SPP's was better
  Nanos one_stage_ = kNoStep;  ///< of the best plan with one stage a device
  Nanos bound_ = 0;            ///< of all such plans
  bool exhausted_ = false;
};

}  // namespace

Nanos bound_of_all(const Task& task) {
  const LayerChain& chain = task.chain;
  const auto path =
      static_cast<double>(chain.forward.back() + chain.backward.back() - chain.weight.back());
  return std::max(least_work(task), static_cast<Nanos>(path / speed_of_all(task)) -
                                        2 * static_cast<Nanos>(chain.size()));
}

Result<Planned> make_plan(const Task& task, const PlannerOptions& options) {
  if (task.limit_memory) {
    // Where memory does not bind, limits cost nothing: no plan within them beats the bound, and
    // few the plan.
    Task free = task;
    free.limit_memory = false;
    Planner planner(free, options);
    WEFT_ASSIGN(auto planned, planner.run_within(task));
    if (planned) return std::move(*planned);
    return Planner(task, options, &planner).run();
  }
  return Planner(task, options).run();
}

}  // namespace weft::pipeline
