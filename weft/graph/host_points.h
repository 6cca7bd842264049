// SPDX-License-Identifier: Apache-2.0
// Where host threads touch the world outside them: calls that launch work elsewhere, calls that
// block, gradients that become ready, the marks between steps. Private to build().
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
  std::uint32_t lane;  ///< of the trace
  Nanos start, end;
  std::uint32_t event;  ///< kNoId for step marks
  Nanos queue_wait = 0;
};

/// All points of a rank by time. A rank without device computes on its threads: there every
/// outermost framework op is work too, cut at the points within it, at which other threads may take
/// over; so are host-side collectives (gloo, say), which run on threads of their own.
std::vector<HostPoint> host_points(const trace::RankTrace& trace, const trace::Launches& launches,
                                   const std::vector<bool>& is_communication, bool has_device);

}  // namespace weft::graph
