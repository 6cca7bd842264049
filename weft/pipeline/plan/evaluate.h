// SPDX-License-Identifier: Apache-2.0
// What a plan takes: the best of a few schedules for its stages, by simulation.
#pragma once

#include <limits>
#include <string>
#include <unordered_map>
#include <vector>

#include "weft/pipeline/plan/cluster_costs.h"
#include "weft/pipeline/plan/plan.h"
#include "weft/pipeline/schedule/list_schedule.h"
#include "weft/pipeline/schedule/simulate.h"

namespace weft::pipeline {

/// 1F1B that starts with more forwards: stage s of N with 1 + depth (N-1-s), as far as memory
/// allows. Depth 1 is 1F1B; 2 hides transfers as long as the stages; 4 is the order of SPP (PE).
/// One stage a device.
Schedule warmed_up(const Pipeline& pipeline, std::int32_t depth);

/// "1f1b", "1f1b-2", "pe", "gpipe": what plans with one stage a device are tried with; where
/// backwards come in halves also with "zb-h1", and within tight memory with "eager": whatever is
/// ready and fits, gradients first.
std::vector<std::string> plan_schedules();
/// "interleaved", "v", "list", "gpipe": what plans are tried with whose stages share devices.
std::vector<std::string> shared_schedules();
/// One of them, of families.h, "zb-auto" or "searched", within the memory of the pipeline.
/// Infeasible where it cannot be kept.
Result<Schedule> plan_schedule(const Pipeline& pipeline, const std::string& name);

constexpr Nanos kNoStep = std::int64_t{1} << 60;

struct Evaluated {
  Nanos step = kNoStep;
  Nanos bound = 0;                   ///< no schedule of these stages takes less
  std::string schedule;              ///< name; "searched": what solve() finds
  std::vector<PlannedStage> stages;  ///< with recomputation where that was better
};

/// Simulates plans, each pipeline once.
class Evaluator {
 public:
  /// Without `schedules`: all of plan_schedules() and shared_schedules(), as suits the plan, and
  /// search() may look for others. Keeps a reference to `task`.
  Evaluator(const Task& task, std::vector<std::string> schedules)
      : task_(task), costs_(task.cluster), schedules_(std::move(schedules)) {}

  /// Infeasible where memory or links do not allow the stages. Where their bound is not below
  /// `limit`, the step is not worked out and stays kNoStep.
  Result<Evaluated> evaluate(const std::vector<PlannedStage>& stages, Nanos limit = kNoStep);
  /// Only whether they take less than `limit`: where they do not, the step stays kNoStep, which is
  /// told sooner than how long it is.
  Result<Evaluated> improve(const std::vector<PlannedStage>& stages, Nanos limit);
  /// The same for climbs, to which what is computed again is part of the plan: stages that are many
  /// are taken as given, or, where that does not fit, in one way that does.
  Result<Evaluated> improve_as_given(const std::vector<PlannedStage>& stages, Nanos limit);
  /// As evaluate(), and where no known schedule comes down to the bound, a short search for one.
  Result<Evaluated> search(const std::vector<PlannedStage>& stages, Nanos limit = kNoStep);
  /// The order of micro-batches that evaluate() or search() found for these stages.
  Result<Schedule> schedule_of(const Evaluated& plan);
  /// Ops simulated so far, and other work as so many: the measure of effort, the same on every
  /// machine.
  std::int64_t ops() const { return ops_; }
  /// From so many on no more is tried of what to compute again than has been, where that is a way.
  void stop_at(std::int64_t ops) { most_ops_ = ops; }
  static constexpr std::int64_t kNoEnd = std::numeric_limits<std::int64_t>::max();

 private:
  /// Of evaluate(), improve(), improve_as_given(), search().
  enum class Wish { kStep, kBetter, kGiven, kSearched };
  struct Known {
    Nanos step = kNoStep, bound = kUnknown;
    Nanos simulated = 0;  ///< whatever takes less is known
    std::string schedule;
    bool searched = false;
    /// No schedule takes less, but for the one that is known.
    Nanos floor() const { return step < simulated ? kNoStep : simulated; }
  };
  static constexpr Nanos kUnknown = -1;

  Result<Evaluated> best_of(const std::vector<PlannedStage>& stages, Nanos limit, Wish wish);
  /// `choice` computes nothing again, `given` what it was asked for with.
  Result<Evaluated> with_recomputation(std::vector<PlannedStage> choice,
                                       const std::vector<PlannedStage>& given,
                                       const std::vector<std::size_t>& tight, Nanos limit,
                                       Wish wish);
  Result<Evaluated> timed(const Pipeline& pipeline, const std::vector<PlannedStage>& stages,
                          Nanos limit, Wish wish);
  Nanos bound_of(const Pipeline& pipeline, Known& known);
  void simulate_all(const Pipeline& pipeline, Nanos limit, Known& known);
  void simulate_warmed_up(const Pipeline& pipeline, const std::string& name, Nanos limit,
                          Known& known);
  void simulate_listed(const Pipeline& pipeline, const std::string& name, Nanos limit,
                       Known& known);
  void simulate_one(const std::string& name, const Schedule& schedule, Nanos limit, Known& known);
  const Schedule* pattern(const Pipeline& pipeline, const std::string& name);
  void search_schedule(const Pipeline& pipeline, Known& known);

  const Task& task_;
  ClusterCosts costs_;
  std::vector<std::string> schedules_;
  std::int64_t ops_ = 0;
  std::int64_t most_ops_ = kNoEnd;
  std::unordered_map<std::string, Known> known_;
  /// Patterns depend on which stages have which devices, and on memory.
  std::unordered_map<std::string, Result<Schedule>> patterns_;
  std::unordered_map<std::string, Schedule> found_;  ///< by searches
  Simulator simulator_;
  ListScheduler lister_;
  Pipeline free_, limited_;  ///< of the plan at hand
  Result<Schedule> last_ = Schedule{};
  std::vector<Micro> warm_;
  std::vector<std::vector<Micro>> tried_;  ///< of the pipeline at hand
  Schedule warmed_up_;
};

}  // namespace weft::pipeline
