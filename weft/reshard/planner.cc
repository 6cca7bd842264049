// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/planner.h"

#include <algorithm>

#include "weft/reshard/bounds.h"
#include "weft/reshard/factors.h"
#include "weft/reshard/search.h"

namespace weft::reshard {
namespace {

/// To price a round takes a few tens of nanoseconds a device.
std::int64_t affordable_rounds(const Problem& problem) {
  constexpr std::int64_t kDeviceRounds = 40'000, kLeast = 300;
  return std::max(kLeast, kDeviceRounds / static_cast<std::int64_t>(problem.devices.size()));
}

}  // namespace

Result<Plan> make_plan(const Problem& problem, const PlannerOptions& options) {
  Meetings meetings;
  std::optional<Plan> best;
  if (!problem.target.partial()) best = direct_plan(problem, options.link, meetings);
  if (best && options.direct) return *best;
  if (const auto factored = factor(problem)) {
    SearchLimits limits;
    limits.memory = bounds(problem).memory;
    limits.rounds = options.search_rounds > 0 ? options.search_rounds : affordable_rounds(problem);
    const auto found = search(problem, *factored, options.link, limits, meetings);
    if (found && (!best || found->time < best->time)) best = found;
  }
  if (!best) {
    return fail(ErrorCode::kInfeasible,
                "no way to a partial target between these meshes: their axes share no factors");
  }
  return *best;
}

}  // namespace weft::reshard
