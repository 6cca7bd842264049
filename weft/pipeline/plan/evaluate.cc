// SPDX-License-Identifier: Apache-2.0
// A plan is evaluated in steps, from cheap to expensive; most plans are discarded early:
//  1. The pipeline without memory limits is built, and a bound from sums alone is compared with the
//     limit of the caller. The bound holds with limits and recomputation, too.
//  2. If no stage is tight, memory limits are irrelevant, and the pipeline is timed as it is.
//     Otherwise RecomputationSearch tries choices of stages that recompute.
//  3. timed() looks the pipeline up among the known ones. If it is new, simulate_all() simulates it
//     under each schedule and stops a simulation as soon as it exceeds the best known step.
//  4. For Question::kSearchedStep, search_schedule() runs a short solve() if the best schedule is
//     above the lower bound.
// Everything counts as effort in ops_, including plans that are discarded; otherwise a search whose
// candidates are all discarded would never end.
#include "weft/pipeline/plan/evaluate.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "weft/pipeline/fit/needs.h"
#include "weft/pipeline/plan/recomputation.h"
#include "weft/pipeline/plan/recomputation_search.h"
#include "weft/pipeline/schedule/bounds.h"
#include "weft/pipeline/schedule/families.h"
#include "weft/pipeline/schedule/list_schedule.h"
#include "weft/pipeline/schedule/solve.h"

namespace weft::pipeline {
namespace {

// The time of other work, converted to simulated ops.
constexpr std::int64_t kListedOp = 6;     ///< making a list schedule: per stage and micro-batch
constexpr std::int64_t kBoundedOp = 8;    ///< lower_bounds(): per stage and micro-batch
constexpr std::int64_t kSolvedOp = 200;   ///< solve() without its search: per stage and micro-batch
constexpr std::int64_t kVisitsPerOp = 2;  ///< states that the search of solve() visits in that time
constexpr std::int64_t kKnownStage = 4;   ///< looking up whether a pipeline is known: per stage
/// Approximate limit for the ops of all list schedules of one pipeline; at least two are made.
constexpr std::int64_t kMostListed = 16'384;
constexpr const char* kSearched = "searched";

/// The effort of one search for a schedule. It is small, because the planner makes such a search
/// for many plans.
SolveOptions short_search() {
  SolveOptions options;
  options.decisions = 200;
  options.visits = 400'000;
  options.most_states = std::size_t{1} << 12;
  options.near_states = std::size_t{1} << 12;
  options.fine = 4096;
  return options;
}

/// Everything that the times of a pipeline depend on, as bytes.
std::string key_of(const Pipeline& pipeline) {
  std::string key;
  const auto add = [&](std::int64_t number) {
    key.append(reinterpret_cast<const char*>(&number), sizeof number);
  };
  for (const Stage& stage : pipeline.stages) {
    for (const Nanos time : {stage.forward, stage.input, stage.weight, stage.all_reduce}) add(time);
    add(stage.device);
    for (const LinkId link : stage.reduce_links) add(link);
    if (pipeline.memory_limits.empty()) continue;
    for (const Bytes change : {stage.forward_memory, stage.input_memory, stage.weight_memory}) {
      add(change);
    }
  }
  for (const Boundary& boundary : pipeline.boundaries) {
    for (const Transfer* transfer : {&boundary.forward, &boundary.backward}) {
      add(transfer->time);
      add(transfer->latency);
      for (const LinkId link : transfer->links) add(link);
    }
  }
  for (const Bytes limit : pipeline.memory_limits) add(limit);
  return key;
}

/// Joins the two halves of every backward: the whole backward runs where the schedule has the
/// gradient of the input.
Schedule whole_backwards(const Schedule& schedule) {
  Schedule whole;
  for (const auto& order : schedule.orders) {
    auto& kept = whole.orders.emplace_back();
    for (Op op : order) {
      if (op.kind == Kind::kWeight) continue;
      if (op.kind == Kind::kInput) op.kind = Kind::kBackward;
      kept.push_back(op);
    }
  }
  return whole;
}

/// Returns the priority rules for list schedules, without rules that give the same schedule as
/// another rule. For large pipelines, returns only the first few of them.
std::vector<PriorityRule> list_rules(const Pipeline& pipeline) {
  std::vector<PriorityRule> rules = different_rules(pipeline);
  const auto most = static_cast<std::size_t>(
      std::clamp<std::int64_t>(kMostListed / simulated_ops(pipeline), 2, std::ssize(rules)));
  rules.resize(most);
  return rules;
}

/// The priority rules of the schedule "eager": start whatever is ready, gradients first, with whole
/// backwards or, if possible, with their halves.
std::vector<PriorityRule> eager_rules(const Pipeline& pipeline) {
  std::vector<PriorityRule> rules(1);
  rules[0].whole_backwards = true;
  if (pipeline.split_backward) rules.push_back({});
  return rules;
}

/// Makes one list schedule per rule and returns the shortest of them.
Result<Schedule> listed(const Pipeline& pipeline, const std::vector<PriorityRule>& rules) {
  Result<Schedule> best = fail(ErrorCode::kInfeasible, "no list schedule fits into memory");
  Nanos shortest = kNoStep;
  for (const PriorityRule& rule : rules) {
    auto schedule = list_schedule(pipeline, rule);
    if (!schedule) continue;
    const auto timeline = simulate(pipeline, *schedule);
    if (!timeline || timeline->makespan >= shortest) continue;
    shortest = timeline->makespan;
    best = std::move(schedule);
  }
  return best;
}

/// How many forwards fit at once on the device of a stage that has the device to itself.
std::int64_t most_alive(const Pipeline& pipeline, std::size_t stage) {
  if (pipeline.memory_limits.empty() || pipeline.stages[stage].forward_memory == 0) {
    return std::numeric_limits<std::int32_t>::max();
  }
  return pipeline.memory_limits[stage] / pipeline.stages[stage].forward_memory;
}

/// Fills in the warm-up of each stage: its forwards before its first backward.
void warm_up_to(const Pipeline& pipeline, std::int32_t depth, std::vector<Micro>& warm) {
  const std::size_t count = pipeline.stages.size();
  warm.resize(count);
  for (std::size_t s = 0; s < count; ++s) {
    const std::int64_t wanted =
        1 + static_cast<std::int64_t>(depth) * static_cast<std::int64_t>(count - 1 - s);
    // If a stage ran more forwards first than the stage before it, the two would deadlock.
    const Micro before = s > 0 ? warm[s - 1] : pipeline.micro_batches;
    warm[s] = static_cast<Micro>(std::min<std::int64_t>(
        {wanted, before, std::max<std::int64_t>(most_alive(pipeline, s), 1)}));
  }
}

/// Fills in the schedule with these warm-ups. Behind its warm-up each stage alternates between a
/// backward and a forward, as in 1F1B.
void fill_warmed_up(const Pipeline& pipeline, const std::vector<Micro>& warm, Schedule& schedule) {
  const Micro micros = pipeline.micro_batches;
  schedule.orders.resize(warm.size());
  for (std::size_t s = 0; s < warm.size(); ++s) {
    auto& order = schedule.orders[s];
    order.clear();
    order.reserve(static_cast<std::size_t>(micros) * 2);
    const auto id = static_cast<StageId>(s);
    for (Micro m = 0; m < warm[s]; ++m) order.push_back({id, Kind::kForward, m});
    for (Micro m = 0; m < micros; ++m) {
      order.push_back({id, Kind::kBackward, m});
      if (m + warm[s] < micros) order.push_back({id, Kind::kForward, m + warm[s]});
    }
  }
}

/// The depth of a schedule made by warmed_up(); 0 for other schedules.
std::int32_t depth_of(const std::string& name) {
  return name == "1f1b" ? 1 : name == "1f1b-2" ? 2 : name == "pe" ? 4 : 0;
}

}  // namespace

Schedule warmed_up(const Pipeline& pipeline, std::int32_t depth) {
  std::vector<Micro> warm;
  warm_up_to(pipeline, depth, warm);
  Schedule schedule;
  fill_warmed_up(pipeline, warm, schedule);
  return schedule;
}

std::vector<std::string> plan_schedules() { return {"1f1b", "1f1b-2", "pe", "gpipe"}; }
std::vector<std::string> shared_schedules() { return {"interleaved", "v", "list", "gpipe"}; }

Result<Schedule> plan_schedule(const Pipeline& pipeline, const std::string& name) {
  if (name == kSearched) {
    WEFT_ASSIGN(Solution solution, solve(pipeline, short_search()));
    return std::move(solution.schedule);
  }
  if (name == "list") return listed(pipeline, list_rules(pipeline));
  if (name == "eager") return listed(pipeline, eager_rules(pipeline));
  if (name == "zb-auto") return zb_auto(pipeline);
  // zb_v() splits backwards. If the layers have no separate weight times, run backwards whole.
  if (name == "v") {
    WEFT_ASSIGN(Schedule schedule, zb_v(pipeline));
    return pipeline.split_backward ? std::move(schedule) : whole_backwards(schedule);
  }
  if (shares_devices(pipeline) || name == "interleaved") return family(name, pipeline);
  if (depth_of(name) > 0) return warmed_up(pipeline, depth_of(name));
  if (name != "gpipe") return family(name, pipeline);
  for (std::size_t s = 0; s < pipeline.stages.size(); ++s) {
    if (most_alive(pipeline, s) < pipeline.micro_batches) {
      return fail(ErrorCode::kInfeasible,
                  "GPipe keeps all micro-batches, which do not fit into memory");
    }
  }
  return gpipe(pipeline);
}

/// A schedule with a fixed pattern; nullptr if the pipeline cannot run it. The pointer is valid
/// until the next call. Without memory limits a pattern depends only on the devices of the stages,
/// not on times, so it is built once.
const Schedule* Evaluator::pattern(const Pipeline& pipeline, const std::string& name) {
  if (!pipeline.memory_limits.empty()) {
    last_ = plan_schedule(pipeline, name);
    return last_ ? &*last_ : nullptr;
  }
  std::string key = name;
  for (const Stage& stage : pipeline.stages) {
    key.append(reinterpret_cast<const char*>(&stage.device), sizeof stage.device);
  }
  auto found = patterns_.find(key);
  if (found == patterns_.end()) {
    found = patterns_.emplace(std::move(key), plan_schedule(pipeline, name)).first;
  }
  return found->second ? &*found->second : nullptr;
}

void Evaluator::simulate_one(const std::string& name, const Schedule& schedule, Nanos limit,
                             Known& known) {
  if (simulator_.run(schedule, std::min(limit, known.step)) != Simulator::End::kDone) return;
  known.step = simulator_.makespan();
  known.schedule = name;
}

/// Simulates a schedule made by warmed_up(). If memory is tight or micro-batches are few, different
/// depths give the same warm-ups, which are simulated only once.
void Evaluator::simulate_warmed_up(const Pipeline& pipeline, const std::string& name, Nanos limit,
                                   Known& known) {
  warm_up_to(pipeline, depth_of(name), warm_);
  if (std::find(tried_.begin(), tried_.end(), warm_) != tried_.end()) return;
  tried_.push_back(warm_);
  if (pipeline.memory_limits.empty()) {
    simulate_one(name, *pattern(pipeline, name), limit, known);
    return;
  }
  fill_warmed_up(pipeline, warm_, warmed_up_);
  simulate_one(name, warmed_up_, limit, known);
}

void Evaluator::simulate_listed(const Pipeline& pipeline, const std::string& name, Nanos limit,
                                Known& known) {
  for (const PriorityRule& rule : name == "list" ? list_rules(pipeline) : eager_rules(pipeline)) {
    // Building a list schedule simulates it, so the effort counts even if it does not fit.
    ops_ += kListedOp * static_cast<std::int64_t>(pipeline.stages.size()) * task_.micro_batches;
    const auto end = lister_.run(pipeline, rule, std::min(limit, known.step));
    if (end == ListScheduler::End::kDone) {
      simulate_one(name, lister_.schedule(), limit, known);
    }
  }
}

/// Simulates the pipeline under all schedules. Finds the best step if that is below `limit`.
void Evaluator::simulate_all(const Pipeline& pipeline, Nanos limit, Known& known) {
  known.simulated = limit;
  auto names = !schedules_.empty()        ? schedules_
               : shares_devices(pipeline) ? shared_schedules()
                                          : plan_schedules();
  if (schedules_.empty() && pipeline.split_backward && !shares_devices(pipeline)) {
    names.push_back("zb-h1");
  }
  if (schedules_.empty() && !pipeline.memory_limits.empty() && !shares_devices(pipeline)) {
    names.push_back("eager");
  }
  simulator_.load(pipeline);
  tried_.clear();
  const std::int64_t before = simulator_.ops();
  for (const std::string& name : names) {
    if (name == "list" || name == "eager") {
      simulate_listed(pipeline, name, limit, known);
    } else if (depth_of(name) > 0 && !shares_devices(pipeline)) {
      simulate_warmed_up(pipeline, name, limit, known);
    } else if (const Schedule* schedule = pattern(pipeline, name)) {
      if (fits(pipeline, *schedule)) simulate_one(name, *schedule, limit, known);
    }
    if (known.step <= known.bound) break;
  }
  ops_ += simulator_.ops() - before;
}

void Evaluator::search_schedule(const Pipeline& pipeline, Known& known) {
  known.searched = true;
  auto solution = solve(pipeline, short_search());
  const auto schedules =
      kSolvedOp * static_cast<std::int64_t>(pipeline.stages.size()) * task_.micro_batches;
  ops_ += schedules + (solution ? solution->visited : short_search().visits) / kVisitsPerOp;
  if (!solution || solution->makespan >= known.step) return;
  known.step = solution->makespan;
  known.schedule = kSearched;
  found_[key_of(pipeline)] = std::move(solution->schedule);
}

Result<Schedule> Evaluator::schedule_of(const Evaluated& plan) {
  Pipeline pipeline;
  WEFT_TRY(pipeline_of(task_, plan.stages, costs_, pipeline));
  if (plan.schedule == kSearched) {
    const auto found = found_.find(key_of(pipeline));
    if (found != found_.end()) return found->second;
  }
  return plan_schedule(pipeline, plan.schedule);
}

Nanos Evaluator::bound_of(const Pipeline& pipeline, Known& known) {
  if (known.bound == kUnknown) {
    known.bound = lower_bounds(pipeline).best();
    ops_ += kBoundedOp * static_cast<std::int64_t>(pipeline.stages.size()) * task_.micro_batches;
  }
  return known.bound;
}

Result<Evaluated> Evaluator::timed(const Pipeline& pipeline,
                                   const std::vector<PlannedStage>& stages, Nanos limit,
                                   Question question) {
  ops_ += kKnownStage * static_cast<std::int64_t>(stages.size());
  Known& known = known_[key_of(pipeline)];
  if (question == Question::kIfShorter || question == Question::kIfShorterAsSet) {
    if (known.floor() < limit) simulate_all(pipeline, limit, known);
    return Evaluated{known.step < limit ? known.step : kNoStep, 0, known.schedule, stages};
  }
  if (question == Question::kSearchedStep) bound_of(pipeline, known);
  if (known.bound < limit) {
    if (known.floor() < kNoStep) simulate_all(pipeline, kNoStep, known);
    if (question == Question::kSearchedStep && schedules_.empty() && !known.searched &&
        known.step > known.bound) {
      search_schedule(pipeline, known);
    }
    if (known.step == kNoStep) {
      return fail(ErrorCode::kInfeasible, "no schedule keeps to the memory of the devices");
    }
  }
  return Evaluated{known.step, std::max<Nanos>(known.bound, 0), known.schedule, stages};
}

Result<Evaluated> Evaluator::evaluate(const std::vector<PlannedStage>& stages, Nanos limit) {
  return best_of(stages, limit, Question::kStep);
}

Result<Evaluated> Evaluator::improve(const std::vector<PlannedStage>& stages, Nanos limit) {
  return best_of(stages, limit, Question::kIfShorter);
}

Result<Evaluated> Evaluator::improve_as_given(const std::vector<PlannedStage>& stages,
                                              Nanos limit) {
  return best_of(stages, limit, Question::kIfShorterAsSet);
}

Result<Evaluated> Evaluator::search(const std::vector<PlannedStage>& stages, Nanos limit) {
  return best_of(stages, limit, Question::kSearchedStep);
}

Result<Evaluated> Evaluator::best_of(const std::vector<PlannedStage>& stages, Nanos limit,
                                     Question question) {
  ops_ += 32 + 4 * static_cast<std::int64_t>(task_.cluster.devices);
  if (!task_.limit_memory) {
    WEFT_TRY(pipeline_without_limits(task_, stages, costs_, unlimited_));
    const Nanos quick = quick_bound(unlimited_);
    if (quick >= limit) return Evaluated{kNoStep, quick, {}, stages};
    return timed(unlimited_, stages, limit, question);
  }
  std::vector<PlannedStage> plain = stages;
  for (PlannedStage& stage : plain) stage.recompute = false;
  // No choice of recomputation takes less than the plan without limits, so the bounds of that plan
  // hold for all choices.
  WEFT_TRY(pipeline_without_limits(task_, plain, costs_, unlimited_));
  Nanos bound = quick_bound(unlimited_);
  if (bound < limit && question == Question::kSearchedStep) {
    bound = bound_of(unlimited_, known_[key_of(unlimited_)]);
  }
  if (bound >= limit) return Evaluated{kNoStep, bound, {}, plain};
  const std::vector<std::size_t> tight = tight_stages(task_, plain, unlimited_);
  if (tight.empty()) return timed(unlimited_, plain, limit, question);
  if (!shares_devices(unlimited_)) {
    bound = std::max(bound, bound_within_memory(task_, plain, unlimited_));
    if (bound == kNothingFits) return fail(ErrorCode::kInfeasible, "a stage does not fit");
    if (bound >= limit) return Evaluated{kNoStep, bound, {}, plain};
  }
  const RecomputationInput input{task_, unlimited_, std::move(plain), stages,
                                 tight, limit,      question,         most_ops_};
  const auto time_choice = [this](const Pipeline& pipeline, const auto& choice, Nanos below,
                                  Question how) { return timed(pipeline, choice, below, how); };
  auto best = search_recomputation(input, {costs_, limited_, ops_, time_choice});
  if (best) best->bound = bound;
  return best;
}

}  // namespace weft::pipeline
