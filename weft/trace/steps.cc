// SPDX-License-Identifier: Apache-2.0
#include "weft/trace/steps.h"

#include <algorithm>

namespace weft::trace {

std::int32_t step_at(const RankTrace& trace, Nanos time) {
  if (trace.steps.empty()) return 0;
  const auto after = std::upper_bound(trace.steps.begin(), trace.steps.end(), time,
                                      [](Nanos t, const StepMark& mark) { return t < mark.start; });
  if (after == trace.steps.begin()) return -1;
  // Work between two marked steps belongs to the first of them. Work after the end of the last step
  // belongs to no step.
  if (after == trace.steps.end() && time >= trace.steps.back().end) return -1;
  return static_cast<std::int32_t>(std::prev(after)->number);
}

}  // namespace weft::trace
