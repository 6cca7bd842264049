// SPDX-License-Identifier: Apache-2.0
// Finds the points at which host threads interact with something else. These are calls that launch
// work, calls that block, gradients that become ready, and marks between steps. Private to build().
#pragma once

#include <cstdint>
#include <vector>

#include "weft/base/units.h"
#include "weft/trace/events.h"
#include "weft/trace/launches.h"

namespace weft::graph {

/// A point on a thread, before it becomes one or two ops.
struct HostPoint {
  enum class Kind : std::uint8_t { kStep, kGradient, kBlocking, kLaunch, kWork } kind;
  std::uint32_t lane;  ///< index into RankTrace::lanes
  Nanos start, end;
  std::uint32_t event;   ///< the trace event of the point; kNoId for step marks
  Nanos queue_wait = 0;  ///< for launches: how long the call waited for room in the launch queue
};

/// Returns all points of a rank, sorted by time. A rank without device computes on its threads. On
/// such a rank, outermost framework ops are points of kind kWork, too. An op is cut at each point
/// inside it, because another thread may take over there. Host-side collectives (of gloo, for
/// example) are kWork points of the threads that ran them. O(n log n) in the events of the rank.
std::vector<HostPoint> host_points(const trace::RankTrace& trace, const trace::Launches& launches,
                                   const std::vector<bool>& is_communication, bool has_device);

}  // namespace weft::graph
