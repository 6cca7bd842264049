// SPDX-License-Identifier: Apache-2.0
#include "weft/pipeline/plan/evaluate.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "weft/pipeline/fit/needs.h"
#include "weft/pipeline/plan/recomputation.h"
#include "weft/pipeline/schedule/bounds.h"
#include "weft/pipeline/schedule/families.h"
#include "weft/pipeline/schedule/list_schedule.h"
#include "weft/pipeline/schedule/solve.h"

namespace weft::pipeline {
namespace {

/// What else takes time, in simulated ops: for each micro-batch of each stage a list schedule, a
/// bound, and all that solve() tries before it searches; states that its search visits.
constexpr std::int64_t kListedOp = 6, kBoundedOp = 8, kSolvedOp = 200, kVisitsAnOp = 2;
constexpr std::int64_t kKnownStage = 4;  ///< and for each stage, to see whether it has been timed
constexpr std::size_t kMostChoices = 4;  ///< stages whose recomputation is tried in all ways
constexpr std::size_t kMostFlips = 32;   ///< of more stages, so many blocks are tried one by one
constexpr std::int64_t kMostToSearch = 128;   ///< ops up to which every choice is searched
constexpr std::int64_t kMostListed = 16'384;  ///< ops of all list schedules of a pipeline, about
constexpr std::int64_t kMostRecomputed = 65'536;  ///< and of all choices of what to recompute
constexpr const char* kSearched = "searched";

SolveOptions short_search() {
  SolveOptions options;
  options.decisions = 200;
  options.visits = 400'000;
  options.most_states = std::size_t{1} << 12;
  options.near_states = std::size_t{1} << 12;
  options.fine = 4096;
  return options;
}

/// All that the time of a pipeline depends on, as bytes.
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

bool shares_devices(const Pipeline& pipeline) {
  return pipeline.devices() < static_cast<DeviceId>(pipeline.stages.size());
}

/// The same order with whole backwards, each where the gradient of its input was.
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

/// One op of each kind for each micro-batch.
std::int64_t ops_of(const Pipeline& pipeline) {
  return 2 * static_cast<std::int64_t>(pipeline.stages.size()) * pipeline.micro_batches;
}

/// Of list schedules, those that differ on the pipeline; of a large one, a few.
std::vector<PriorityRule> list_rules(const Pipeline& pipeline) {
  std::vector<PriorityRule> rules = different_rules(pipeline);
  const auto most = static_cast<std::size_t>(
      std::clamp<std::int64_t>(kMostListed / ops_of(pipeline), 2, std::ssize(rules)));
  rules.resize(most);
  return rules;
}

/// Whatever is ready, gradients first: halves of backwards as they come, or whole ones.
std::vector<PriorityRule> eager_rules(const Pipeline& pipeline) {
  std::vector<PriorityRule> rules(1);
  rules[0].whole_backwards = true;
  if (pipeline.split_backward) rules.push_back({});
  return rules;
}

/// The best of these list schedules.
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

/// Forwards whose memory fits beside each other on the device of a stage that has it alone.
std::int64_t most_alive(const Pipeline& pipeline, std::size_t stage) {
  if (pipeline.memory_limits.empty() || pipeline.stages[stage].forward_memory == 0) {
    return std::numeric_limits<std::int32_t>::max();
  }
  return pipeline.memory_limits[stage] / pipeline.stages[stage].forward_memory;
}

/// Forwards of each stage before its first backward.
void warm_up_to(const Pipeline& pipeline, std::int32_t depth, std::vector<Micro>& warm) {
  const std::size_t count = pipeline.stages.size();
  warm.resize(count);
  for (std::size_t s = 0; s < count; ++s) {
    const std::int64_t wanted =
        1 + static_cast<std::int64_t>(depth) * static_cast<std::int64_t>(count - 1 - s);
    // A stage that waited for more forwards than the one before it runs would wait for ever.
    const Micro before = s > 0 ? warm[s - 1] : pipeline.micro_batches;
    warm[s] = static_cast<Micro>(std::min<std::int64_t>(
        {wanted, before, std::max<std::int64_t>(most_alive(pipeline, s), 1)}));
  }
}

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

/// Of warmed_up(); 0 for other schedules.
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
  if (name == "v") {
    WEFT_ASSIGN(Schedule schedule, zb_v(pipeline));
    return pipeline.split_backward ? std::move(schedule) : whole_backwards(schedule);
  }
  if (shares_devices(pipeline) || name == "interleaved") return family(name, pipeline);
  if (depth_of(name) > 0) return warmed_up(pipeline, depth_of(name));
  if (name != "gpipe") return family(name, pipeline);
  for (std::size_t s = 0; s < pipeline.stages.size(); ++s) {
    if (most_alive(pipeline, s) < pipeline.micro_batches) {
      return fail(ErrorCode::kInfeasible, "GPipe keeps all micro-batches, which do not fit");
    }
  }
  return gpipe(pipeline);
}

/// A schedule of a fixed pattern; nullptr where the pipeline has none. Good until the next one.
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

/// Where memory is tight or micro-batches are few, depths come to the same.
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
    // Made by simulation, whether it fits or not.
    ops_ += kListedOp * static_cast<std::int64_t>(pipeline.stages.size()) * task_.micro_batches;
    const auto end = lister_.run(pipeline, rule, std::min(limit, known.step));
    if (end == ListScheduler::End::kDone) {
      simulate_one(name, lister_.schedule(), limit, known);
    }
  }
}

/// Whatever takes less than `limit`.
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
  ops_ += schedules + (solution ? solution->visited : short_search().visits) / kVisitsAnOp;
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
                                   Wish wish) {
  ops_ += kKnownStage * static_cast<std::int64_t>(stages.size());
  Known& known = known_[key_of(pipeline)];
  if (wish == Wish::kBetter || wish == Wish::kGiven) {
    if (known.floor() < limit) simulate_all(pipeline, limit, known);
    return Evaluated{known.step < limit ? known.step : kNoStep, 0, known.schedule, stages};
  }
  if (wish == Wish::kSearched) bound_of(pipeline, known);
  if (known.bound < limit) {
    if (known.floor() < kNoStep) simulate_all(pipeline, kNoStep, known);
    if (wish == Wish::kSearched && schedules_.empty() && !known.searched &&
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
  return best_of(stages, limit, Wish::kStep);
}

Result<Evaluated> Evaluator::improve(const std::vector<PlannedStage>& stages, Nanos limit) {
  return best_of(stages, limit, Wish::kBetter);
}

Result<Evaluated> Evaluator::improve_as_given(const std::vector<PlannedStage>& stages,
                                              Nanos limit) {
  return best_of(stages, limit, Wish::kGiven);
}

Result<Evaluated> Evaluator::search(const std::vector<PlannedStage>& stages, Nanos limit) {
  return best_of(stages, limit, Wish::kSearched);
}

Result<Evaluated> Evaluator::best_of(const std::vector<PlannedStage>& stages, Nanos limit,
                                     Wish wish) {
  // What it takes to get to a bound counts, whatever comes of it: searches go on until their effort
  // is spent.
  ops_ += 32 + 4 * static_cast<std::int64_t>(task_.cluster.devices);
  if (!task_.limit_memory) {
    WEFT_TRY(pipeline_without_limits(task_, stages, costs_, free_));
    const Nanos quick = quick_bound(free_);
    if (quick >= limit) return Evaluated{kNoStep, quick, {}, stages};
    return timed(free_, stages, limit, wish);
  }
  std::vector<PlannedStage> plain = stages;
  for (PlannedStage& stage : plain) stage.recompute = false;
  // Whatever is recomputed, nothing takes less than without limits.
  WEFT_TRY(pipeline_without_limits(task_, plain, costs_, free_));
  Nanos bound = quick_bound(free_);
  if (bound < limit && wish == Wish::kSearched) bound = bound_of(free_, known_[key_of(free_)]);
  if (bound >= limit) return Evaluated{kNoStep, bound, {}, plain};
  const std::vector<std::size_t> tight = tight_stages(task_, plain, free_);
  if (tight.empty()) return timed(free_, plain, limit, wish);
  if (!shares_devices(free_)) {
    bound = std::max(bound, bound_within_memory(task_, plain, free_));
    if (bound == kNothingFits) return fail(ErrorCode::kInfeasible, "a stage does not fit");
    if (bound >= limit) return Evaluated{kNoStep, bound, {}, plain};
  }
  auto best = with_recomputation(std::move(plain), stages, tight, limit, wish);
  if (best) best->bound = bound;
  return best;
}

Result<Evaluated> Evaluator::with_recomputation(std::vector<PlannedStage> choice,
                                                const std::vector<PlannedStage>& given,
                                                const std::vector<std::size_t>& tight, Nanos limit,
                                                Wish wish) {
  Result<Evaluated> best = fail(ErrorCode::kInfeasible, "no schedule fits into memory");
  const auto most = static_cast<std::size_t>(std::clamp<std::int64_t>(
      kMostRecomputed / (4 * ops_of(free_)), 4, std::int64_t{1} << kMostChoices));
  const bool by_search = wish == Wish::kSearched, as_given = wish == Wish::kGiven;
  if (as_given) wish = Wish::kBetter;
  // Of larger pipelines only the best choice is worth a search.
  const bool search_last = by_search && ops_of(free_) > kMostToSearch;
  if (search_last) wish = Wish::kStep;
  const auto finish = [&] {
    if (!search_last || !best || best->step == kNoStep) return std::move(best);
    choice = best->stages;
    if (!set_recomputation(task_, choice, costs_, limited_)) return std::move(best);
    auto searched = timed(limited_, choice, limit, Wish::kSearched);
    return searched && searched->step < best->step ? std::move(searched) : std::move(best);
  };
  limited_ = free_;
  const bool all = tight.size() <= kMostChoices && std::size_t{1} << tight.size() <= most;
  const auto try_choice = [&](Wish how) {
    ops_ += 16 + 8 * static_cast<std::int64_t>(choice.size());
    if (!set_recomputation(task_, choice, costs_, limited_)) return false;
    const Nanos below = best ? std::min(limit, best->step) : limit;
    const Nanos quick = quick_bound(limited_);
    if (how == Wish::kBetter && quick >= below) {
      if (!best) best = Evaluated{kNoStep, 0, {}, choice};
      return false;
    }
    if (best && quick >= best->step) return false;
    auto result = timed(limited_, choice, below, how);
    if (!result || (best && result->step >= best->step)) return false;
    best = std::move(result);
    return true;
  };
  const auto spent = [&] { return best && ops_ >= most_ops_; };
  if (all) {
    for (std::uint32_t set = 0; set < 1u << tight.size() && !spent(); ++set) {
      for (std::size_t i = 0; i < tight.size(); ++i) {
        choice[tight[i]].recompute = (set >> i & 1) != 0;
      }
      try_choice(wish);
    }
    return finish();
  }
  std::vector<PlannedStage> none = choice;
  if (as_given || by_search) {
    // Plans that were found before were found with a choice, which is good already.
    for (const std::size_t s : tight) choice[s].recompute = given[s].recompute;
    try_choice(wish);
    if (as_given && best) return finish();
  }
  // Steps show the way on, also those that are too long.
  const Wish start = wish == Wish::kBetter ? Wish::kStep : wish;
  if (!shares_devices(free_)) {
    guess_recomputation(task_, free_, choice);
    try_choice(start);
    if (as_given && best) return finish();
  }
  choice = none;
  try_choice(start);
  for (const std::size_t s : tight) choice[s].recompute = true;
  try_choice(start);
  for (const Micro alive : {Micro{1}, task_.micro_batches}) {
    if (best) break;  // else some must and others must not
    std::vector<PlannedStage> least = choice;
    recompute_least(task_, alive, least);
    for (const std::size_t s : tight) choice[s].recompute = least[s].recompute;
    try_choice(start);
  }
  if (as_given) return finish();
  // From the best of these one stage, or some neighbours, after the other.
  const std::size_t flips = std::min(2 * most, kMostFlips);
  const std::size_t block = (tight.size() + flips - 1) / flips;
  for (bool better = static_cast<bool>(best); better;) {
    better = false;
    for (std::size_t first = 0; first < tight.size() && !spent(); first += block) {
      choice = best->stages;
      const std::size_t last = std::min(first + block, tight.size());
      for (std::size_t i = first; i < last; ++i) {
        choice[tight[i]].recompute = !choice[tight[i]].recompute;
      }
      better |= try_choice(wish == Wish::kSearched ? wish : Wish::kBetter);
    }
  }
  return finish();
}

}  // namespace weft::pipeline
