// SPDX-License-Identifier: Apache-2.0
// Finds which call launched a device event, and inside which range of the framework this call was
// made. The matching of collectives and the graph need both facts.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/trace/events.h"

namespace weft::trace {

/// Both columns have one entry per event. An entry is an event index, or kNone if there is none.
struct Launches {
  /// For kernels, copies and memsets: the runtime call with the same correlation. For collectives
  /// that run on a separate thread (gloo): the c10d op that put them into its queue. kNone for work
  /// that was launched before the recording began.
  std::vector<std::uint32_t> launcher;
  /// For host ops, annotations and runtime calls: the innermost host op or annotation around them
  /// on their lane. parent[parent[event]] and so on give the whole chain.
  std::vector<std::uint32_t> parent;
};

/// Finds the launchers and the parents of all events. Takes O(n log n) time in the events of the
/// rank.
Launches resolve_launches(const RankTrace& trace);

}  // namespace weft::trace
