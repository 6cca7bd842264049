// SPDX-License-Identifier: Apache-2.0
// Searches the plans of one graph of groups (groups.h) by best-first branch and bound. Partial
// plans are extended stage by stage. The partial plan with the smallest lower bound comes first.
// Complete plans are simulated. The search ends when no partial plan has a bound below the best
// step; then the best plan is proved to be optimal. It also ends when the effort is spent.
#pragma once

#include "weft/pipeline/plan/evaluate.h"
#include "weft/pipeline/plan/lookahead.h"

namespace weft::pipeline {

struct PlanEffort {
  std::int64_t ops = 1'000'000;       ///< value of Evaluator::ops() at which the search stops
  std::size_t labels = 400'000;       ///< most partial plans that are kept
  std::int64_t children = 4'000'000;  ///< most partial plans that are generated
  bool schedules = true;  ///< whether to search schedules for each plan, beyond the fixed patterns
};

struct FoundPlan {
  Evaluated best;   ///< its step is kNoStep if no plan was found
  Nanos bound = 0;  ///< lower bound over all plans of the graph and all schedules
  /// Whether it is proved that no plan of the graph is shorter under the tried schedules.
  bool exhausted = false;
};

/// `best` is the best plan known so far; plans whose bound is not below its step are pruned.
FoundPlan search_plans(const Lookahead& lookahead, Evaluator& evaluator, const PlanEffort& effort,
                       Evaluated best);

/// Builds one plan greedily: each stage is the extension with the smallest lower bound. For graphs
/// that are too large to search, and as a start for searches. Empty if the greedy choice leads to a
/// dead end.
std::vector<PlannedStage> follow_bound(const Lookahead& lookahead);

}  // namespace weft::pipeline
