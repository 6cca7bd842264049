// SPDX-License-Identifier: Apache-2.0
// Plans of one graph of groups, those with the smallest bound first, each simulated until no plan
// is left whose bound is below the best step, or the effort is spent.
#pragma once

#include "weft/pipeline/plan/evaluate.h"
#include "weft/pipeline/plan/lookahead.h"

namespace weft::pipeline {

struct PlanEffort {
  std::int64_t ops = 1'000'000;       ///< simulated, all searches of a planning together
  std::size_t labels = 400'000;       ///< parts of plans kept at a time
  std::int64_t children = 4'000'000;  ///< parts of plans looked at
  bool schedules = true;              ///< look for schedules of every plan, beyond known ones
};

struct FoundPlan {
  Evaluated best;          ///< step kNoStep where there is none
  Nanos bound = 0;         ///< no plan of the graph takes less, whatever its schedule
  bool exhausted = false;  ///< no plan of the graph takes less with the schedules tried
};

/// `best` is the best known so far; what is not better is not looked at.
FoundPlan search_plans(const Lookahead& lookahead, Evaluator& evaluator, const PlanEffort& effort,
                       Evaluated best);

/// The one plan that follows the smallest bound, without a search: for large graphs.
std::vector<PlannedStage> follow_bound(const Lookahead& lookahead);

}  // namespace weft::pipeline
