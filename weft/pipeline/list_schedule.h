// SPDX-License-Identifier: Apache-2.0
// Schedules made in the order of time: whenever a device is free it starts the best op that is
// ready and fits into memory. For pipelines of any size.
#pragma once

#include <array>
#include <limits>

#include "weft/pipeline/schedule.h"

namespace weft::pipeline {

/// What is best, where several ops are ready.
struct Taste {
  bool forwards_first = false;  ///< rather than gradients of inputs
  /// Weights wait where an op that others need is known to come before they would end.
  bool patient = false;
  /// No more micro-batches on the way than there are stages behind, as in 1F1B.
  bool lean = false;
  bool whole_backwards = false;  ///< do not halve them, though the pipeline would allow it
};

/// Respects memory limits. Fails where no order of this kind fits into them, or where it would take
/// `limit` or more, as far as is known before links are simulated.
Result<Schedule> list_schedule(const Pipeline& pipeline, const Taste& taste,
                               Nanos limit = std::numeric_limits<Nanos>::max());

/// The eight tastes of the zero-bubble heuristic: all of patient, lean and forwards_first.
std::array<Taste, 8> zero_bubble_tastes();

/// The best of list_schedule() over zero_bubble_tastes(), by simulated time.
Result<Schedule> zb_auto(const Pipeline& pipeline);

}  // namespace weft::pipeline
