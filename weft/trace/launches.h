// SPDX-License-Identifier: Apache-2.0
// Which call launched a device event, and which framework range that call was made in. The same
// question is asked by the matching of collectives and by the graph, so it is answered once.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/trace/events.h"

namespace weft::trace {

/// Both columns have one entry an event; kNone where there is no answer.
struct Launches {
  /// For kernels, copies and memsets: the runtime call with the same correlation. For collectives
  /// that run on a thread of their own (gloo): the c10d op that put them into its queue. Absent for
  /// work launched before the recording began.
  std::vector<std::uint32_t> launcher;
  /// For host ops, annotations and runtime calls: the innermost host op or annotation around them
  /// on their lane. Follow it upwards for the whole chain.
  std::vector<std::uint32_t> parent;
};

/// O(n log n).
Launches resolve_launches(const RankTrace& trace);

}  // namespace weft::trace
