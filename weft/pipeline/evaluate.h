// SPDX-License-Identifier: Apache-2.0
// What a plan takes: the best of a few schedules for its stages, by simulation.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "weft/pipeline/plan.h"
#include "weft/pipeline/simulate.h"

namespace weft::pipeline {

/// 1F1B that starts with more forwards: stage s of N with 1 + depth (N-1-s), as far as memory
/// allows. Depth 1 is 1F1B; 2 hides transfers as long as the stages; 4 is the order of SPP (PE).
Schedule warmed_up(const Pipeline& pipeline, std::int32_t depth);

/// "1f1b", "1f1b-2", "pe", "gpipe": what plans are tried with.
std::vector<std::string> plan_schedules();
/// One of them, within the memory of the pipeline. Infeasible where it cannot be kept.
Result<Schedule> plan_schedule(const Pipeline& pipeline, const std::string& name);

constexpr Nanos kNoStep = std::int64_t{1} << 60;

struct Evaluated {
  Nanos step = 0;
  std::string schedule;
  std::vector<PlannedStage> stages;  ///< with recomputation where that was better
};

/// Simulates plans, each pipeline once.
class Evaluator {
 public:
  /// Keeps a reference to `task`.
  Evaluator(const Task& task, std::vector<std::string> schedules)
      : task_(task), schedules_(std::move(schedules)) {}

  /// Infeasible where memory or links do not allow the stages.
  Result<Evaluated> evaluate(const std::vector<PlannedStage>& stages);
  /// Ops simulated so far: the measure of effort, the same on every machine.
  std::int64_t ops() const { return ops_; }

 private:
  Result<Evaluated> simulate_all(const std::vector<PlannedStage>& stages);

  const Task& task_;
  std::vector<std::string> schedules_;
  std::int64_t ops_ = 0;
  std::unordered_map<std::string, std::pair<Nanos, std::size_t>> known_;
};

}  // namespace weft::pipeline
