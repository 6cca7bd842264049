// SPDX-License-Identifier: Apache-2.0
#include "weft/pipeline/evaluate.h"

#include <algorithm>
#include <limits>

#include "weft/pipeline/bounds.h"
#include "weft/pipeline/families.h"
#include "weft/pipeline/list_schedule.h"
#include "weft/pipeline/solve.h"

namespace weft::pipeline {
namespace {

constexpr std::int64_t kMostToSearch = 500'000;  ///< ops that a search for a schedule may stand for
constexpr std::size_t kMostChoices = 4;  ///< stages whose recomputation is tried in all ways
constexpr std::size_t kMostFlips = 32;   ///< of more stages, so many blocks are tried one by one
constexpr const char* kSearched = "searched";

SolveOptions short_search() {
  SolveOptions options;
  options.decisions = 200;
  options.most_states = std::size_t{1} << 14;
  options.corridors = false;
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

/// The best of all list schedules.
Result<Schedule> listed(const Pipeline& pipeline) {
  Result<Schedule> best = fail(ErrorCode::kInfeasible, "no list schedule fits into memory");
  Nanos shortest = kNoStep;
  for (Taste taste : zero_bubble_tastes()) {
    if (!pipeline.split_backward && taste.patient) continue;  // about weights alone
    for (const bool whole : {true, false}) {
      if (!whole && !pipeline.split_backward) continue;
      taste.whole_backwards = whole;
      auto schedule = list_schedule(pipeline, taste);
      if (!schedule) continue;
      const auto timeline = simulate(pipeline, *schedule);
      if (!timeline || timeline->makespan >= shortest) continue;
      shortest = timeline->makespan;
      best = std::move(schedule);
    }
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

}  // namespace

Schedule warmed_up(const Pipeline& pipeline, std::int32_t depth) {
  Schedule schedule;
  const std::size_t count = pipeline.stages.size();
  schedule.orders.resize(count);
  const Micro micros = pipeline.micro_batches;
  for (std::size_t s = 0; s < count; ++s) {
    const std::int64_t wanted =
        1 + static_cast<std::int64_t>(depth) * static_cast<std::int64_t>(count - 1 - s);
    const auto warm = static_cast<Micro>(std::min<std::int64_t>(
        {wanted, micros, std::max<std::int64_t>(most_alive(pipeline, s), 1)}));
    auto& order = schedule.orders[s];
    order.reserve(static_cast<std::size_t>(micros) * 2);
    const auto id = static_cast<StageId>(s);
    for (Micro m = 0; m < warm; ++m) order.push_back({id, Kind::kForward, m});
    for (Micro m = 0; m < micros; ++m) {
      order.push_back({id, Kind::kBackward, m});
      if (m + warm < micros) order.push_back({id, Kind::kForward, m + warm});
    }
  }
  return schedule;
}

std::vector<std::string> plan_schedules() { return {"1f1b", "1f1b-2", "pe", "gpipe"}; }
std::vector<std::string> shared_schedules() { return {"interleaved", "v", "list", "gpipe"}; }

Result<Schedule> plan_schedule(const Pipeline& pipeline, const std::string& name) {
  if (name == kSearched) {
    WEFT_ASSIGN(Solution solution, solve(pipeline, short_search()));
    return std::move(solution.schedule);
  }
  if (name == "list") return listed(pipeline);
  if (name == "zb-auto") return zb_auto(pipeline);
  if (name == "v") {
    WEFT_ASSIGN(Schedule schedule, zb_v(pipeline));
    return pipeline.split_backward ? std::move(schedule) : whole_backwards(schedule);
  }
  if (shares_devices(pipeline) || name == "interleaved") return family(name, pipeline);
  if (name == "1f1b") return warmed_up(pipeline, 1);
  if (name == "1f1b-2") return warmed_up(pipeline, 2);
  if (name == "pe") return warmed_up(pipeline, 4);
  if (name != "gpipe") return family(name, pipeline);
  for (std::size_t s = 0; s < pipeline.stages.size(); ++s) {
    if (most_alive(pipeline, s) < pipeline.micro_batches) {
      return fail(ErrorCode::kInfeasible, "GPipe keeps all micro-batches, which do not fit");
    }
  }
  return gpipe(pipeline);
}

void Evaluator::simulate_all(const Pipeline& pipeline, Known& known) {
  known.simulated = true;
  const bool shared = shares_devices(pipeline);
  const auto names = !schedules_.empty() ? schedules_
                     : shared            ? shared_schedules()
                                         : plan_schedules();
  const std::int64_t once =
      2 * static_cast<std::int64_t>(pipeline.stages.size()) * task_.micro_batches;
  for (const std::string& name : names) {
    const auto schedule = plan_schedule(pipeline, name);
    if (name == "list") ops_ += 15 * once;  // made by simulation, whether it fits or not
    if (!schedule) continue;
    ops_ += once;
    const auto timeline = simulate(pipeline, *schedule);
    if (!timeline || !fits(pipeline, *timeline)) continue;
    if (timeline->makespan < known.step) {
      known.step = timeline->makespan;
      known.schedule = name;
    }
    if (known.step <= known.bound) break;
  }
}

void Evaluator::search_schedule(const Pipeline& pipeline, Known& known) {
  known.searched = true;
  const auto stages = static_cast<std::int64_t>(pipeline.stages.size());
  const std::int64_t ops = 20'000 + 16 * stages * task_.micro_batches * task_.micro_batches;
  if (ops > kMostToSearch) return;
  ops_ += ops;
  const auto solution = solve(pipeline, short_search());
  if (!solution || solution->makespan >= known.step) return;
  known.step = solution->makespan;
  known.schedule = kSearched;
}

Evaluator::Known& Evaluator::entry(const Pipeline& pipeline) {
  auto [found, is_new] = known_.try_emplace(key_of(pipeline));
  if (is_new) {
    found->second.bound = lower_bounds(pipeline).best();
    ops_ += static_cast<std::int64_t>(pipeline.stages.size()) * task_.micro_batches;
  }
  return found->second;
}

Result<Evaluated> Evaluator::timed(const Pipeline& pipeline,
                                   const std::vector<PlannedStage>& stages, Nanos limit,
                                   bool search) {
  Known& known = entry(pipeline);
  if (known.bound < limit) {
    if (!known.simulated) simulate_all(pipeline, known);
    if (search && schedules_.empty() && !known.searched && known.step > known.bound) {
      search_schedule(pipeline, known);
    }
    if (known.step == kNoStep) {
      return fail(ErrorCode::kInfeasible, "no schedule keeps to the memory of the devices");
    }
  }
  return Evaluated{known.step, known.bound, known.schedule, stages};
}

Result<Evaluated> Evaluator::evaluate(const std::vector<PlannedStage>& stages, Nanos limit) {
  return best_of(stages, limit, false);
}

Result<Evaluated> Evaluator::search(const std::vector<PlannedStage>& stages, Nanos limit) {
  return best_of(stages, limit, true);
}

Result<Evaluated> Evaluator::best_of(const std::vector<PlannedStage>& stages, Nanos limit,
                                     bool search) {
  // What it takes to get to a bound counts, whatever comes of it: searches go on until their effort
  // is spent.
  ops_ += 32 + 4 * static_cast<std::int64_t>(task_.cluster.devices);
  if (!task_.limit_memory) {
    WEFT_ASSIGN(const Pipeline pipeline, pipeline_without_limits(task_, stages));
    const Nanos quick = quick_bound(pipeline);
    if (quick >= limit) return Evaluated{kNoStep, quick, {}, stages};
    return timed(pipeline, stages, limit, search);
  }
  std::vector<PlannedStage> plain = stages;
  for (PlannedStage& stage : plain) stage.recompute = false;
  // Whatever is recomputed, nothing takes less than without limits.
  WEFT_ASSIGN(const Pipeline free, pipeline_without_limits(task_, plain));
  const Nanos quick = quick_bound(free);
  const Nanos bound = quick >= limit ? quick : entry(free).bound;
  if (bound >= limit) return Evaluated{kNoStep, bound, {}, plain};
  const std::vector<std::size_t> tight = tight_stages(task_, plain);
  if (tight.empty()) return timed(free, plain, limit, search);
  auto best = with_recomputation(std::move(plain), tight, limit, search);
  if (best) best->bound = bound;
  return best;
}

Result<Evaluated> Evaluator::with_recomputation(std::vector<PlannedStage> choice,
                                                const std::vector<std::size_t>& tight, Nanos limit,
                                                bool search) {
  Result<Evaluated> best = fail(ErrorCode::kInfeasible, "no schedule fits into memory");
  const auto try_choice = [&] {
    // Each boundary looks at all shared links.
    ops_ += 32 + static_cast<std::int64_t>(choice.size() * (16 + task_.cluster.shared.size()));
    const auto pipeline = pipeline_of(task_, choice);
    if (!pipeline) return false;
    auto result = timed(*pipeline, choice, best ? std::min(limit, best->step) : limit, search);
    if (!result || (best && result->step >= best->step)) return false;
    best = std::move(result);
    return true;
  };
  if (tight.size() <= kMostChoices) {
    for (std::uint32_t set = 0; set < 1u << tight.size(); ++set) {
      for (std::size_t i = 0; i < tight.size(); ++i) {
        choice[tight[i]].recompute = (set >> i & 1) != 0;
      }
      try_choice();
    }
  } else {
    // All, none, and from the better of them one stage, or some neighbours, after the other.
    try_choice();
    for (const std::size_t s : tight) choice[s].recompute = true;
    try_choice();
    const std::size_t block = (tight.size() + kMostFlips - 1) / kMostFlips;
    for (bool better = static_cast<bool>(best); better;) {
      better = false;
      for (std::size_t first = 0; first < tight.size(); first += block) {
        choice = best->stages;
        const std::size_t last = std::min(first + block, tight.size());
        for (std::size_t i = first; i < last; ++i) {
          choice[tight[i]].recompute = !choice[tight[i]].recompute;
        }
        better |= try_choice();
      }
    }
  }
  return best;
}

}  // namespace weft::pipeline
