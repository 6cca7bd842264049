// SPDX-License-Identifier: Apache-2.0
// Times plans: the step of a plan is the shortest simulated step over several schedules and, under
// memory limits, over several choices of stages that recompute.
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

/// Makes 1F1B with a longer warm-up. Stage s of N starts with 1 + depth (N-1-s) forwards, as far as
/// memory allows. Depth 1 is 1F1B. Depth 2 hides transfers that take as long as the stages. Depth 4
/// is the order that SPP calls PE. Every device must have one stage. Do not confuse this function
/// with one_f_one_b() in schedule/families.cc, the published pattern of 1F1B: it has only depth 1
/// and ignores memory limits. The Evaluator below calls a variant of warmed_up() that reuses
/// buffers, because the planner needs it thousands of times.
Schedule warmed_up(const Pipeline& pipeline, std::int32_t depth);

/// The schedules tried for plans with one stage per device: "1f1b", "1f1b-2", "pe", "gpipe". The
/// evaluator adds "zb-h1" if backwards can be split, and under tight memory "eager", a list
/// schedule that starts whatever is ready and fits, gradients first.
std::vector<std::string> plan_schedules();
/// The schedules tried for plans whose stages share devices: "interleaved", "v", "list", "gpipe".
std::vector<std::string> shared_schedules();
/// Builds a schedule by name: one of those above, one of families.h, "zb-auto" or "searched". It
/// keeps to the memory limits of the pipeline where the schedule can adapt to them. Infeasible if
/// the pipeline cannot run it.
Result<Schedule> plan_schedule(const Pipeline& pipeline, const std::string& name);

constexpr Nanos kNoStep = std::int64_t{1} << 60;  ///< longer than any step

struct Evaluated {
  Nanos step = kNoStep;
  Nanos bound = 0;                   ///< lower bound over all schedules of these stages
  std::string schedule;              ///< name of the best schedule; "searched" if solve() found it
  std::vector<PlannedStage> stages;  ///< with the best choice of stages that recompute
};

/// What a caller wants to know about a plan. The less it wants to know, the less work the
/// evaluation takes.
enum class Question {
  kStep,       ///< the step
  kIfShorter,  ///< the step if it is below a limit; otherwise only the fact that it is not
  /// Like kIfShorter, but usually without trying other choices of stages that recompute.
  kIfShorterAsSet,
  kSearchedStep,  ///< the step; if the known schedules leave a gap, a schedule is searched
};

/// Times plans and counts the effort. The class remembers results. Two plans share a result if
/// everything that the times of their pipelines depend on is equal.
class Evaluator {
 public:
  /// Only the given schedules are tried. If `schedules` is empty, all schedules listed above that
  /// suit the plan are tried, and search() may search for others. Keeps a reference to `task`.
  Evaluator(const Task& task, std::vector<std::string> schedules)
      : task_(task), costs_(task.cluster), schedules_(std::move(schedules)) {}

  /// The step of a plan. Infeasible if memory or links do not allow the stages. If the lower bound
  /// of the plan is not below `limit`, the plan is not simulated and its step stays kNoStep.
  Result<Evaluated> evaluate(const std::vector<PlannedStage>& stages, Nanos limit = kNoStep);
  /// The step if it is below `limit`; otherwise the step stays kNoStep. Faster than evaluate(),
  /// because a simulation ends as soon as it exceeds the limit.
  Result<Evaluated> improve(const std::vector<PlannedStage>& stages, Nanos limit);
  /// Like improve(), but for local searches that treat recomputation as part of the plan. If
  /// there are few choices of stages that recompute, all choices are tried. If there are too many,
  /// the choice in `stages` is used. If that choice does not fit into memory, some choice that fits
  /// is used.
  Result<Evaluated> improve_as_given(const std::vector<PlannedStage>& stages, Nanos limit);
  /// Like evaluate(). But if no known schedule reaches the lower bound, it also searches for a
  /// better schedule.
  Result<Evaluated> search(const std::vector<PlannedStage>& stages, Nanos limit = kNoStep);
  /// The order of micro-batches behind the step of an evaluated plan.
  Result<Schedule> schedule_of(const Evaluated& plan);
  /// The effort so far: simulated ops, plus other work converted to ops. Counting ops instead of
  /// seconds makes results independent of the machine.
  std::int64_t ops() const { return ops_; }
  /// Once ops() reaches this value, no further choices of stages that recompute are tried for a
  /// plan that has one feasible choice.
  void stop_at(std::int64_t ops) { most_ops_ = ops; }
  static constexpr std::int64_t kNoEnd = std::numeric_limits<std::int64_t>::max();

 private:
  /// What is known about a pipeline.
  struct Known {
    Nanos step = kNoStep, bound = kUnknown;
    /// All schedules were simulated up to this time, so a shorter one would be known.
    Nanos simulated = 0;
    std::string schedule;
    bool searched = false;
    /// No further simulation can find a step below this. kNoStep if the best step is already known.
    Nanos floor() const { return step < simulated ? kNoStep : simulated; }
  };
  static constexpr Nanos kUnknown = -1;

  Result<Evaluated> best_of(const std::vector<PlannedStage>& stages, Nanos limit,
                            Question question);
  Result<Evaluated> timed(const Pipeline& pipeline, const std::vector<PlannedStage>& stages,
                          Nanos limit, Question question);
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
  std::unordered_map<std::string, Known> known_;  ///< the key is key_of(pipeline)
  /// Fixed patterns for pipelines without memory limits. The key is the name and the devices of the
  /// stages.
  std::unordered_map<std::string, Result<Schedule>> patterns_;
  /// Schedules that searches have found; the key is key_of(pipeline).
  std::unordered_map<std::string, Schedule> found_;
  Simulator simulator_;
  ListScheduler lister_;
  // Buffers for the plan being evaluated. They are members so that their memory is reused.
  Pipeline unlimited_, limited_;
  Result<Schedule> last_ = Schedule{};
  std::vector<Micro> warm_;
  std::vector<std::vector<Micro>> tried_;  ///< warm-ups simulated for the pipeline
  Schedule warmed_up_;
};

}  // namespace weft::pipeline
