// SPDX-License-Identifier: Apache-2.0
// Where a rank's time goes in a timeline. Every instant has exactly one cause, so the causes of a
// stretch of time add up to it in whole nanoseconds.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "weft/graph/graph.h"

namespace weft::sim {

/// In order of precedence: where several hold at one instant, the first counts.
enum class Cause : std::uint8_t {
  kCompute,      ///< a kernel runs (op timelines: any work)
  kMemoryCopy,   ///< a copy or memset runs
  kTransfer,     ///< data of a collective or message moves, and nothing above hides it
  kWaiting,      ///< ready to communicate, another rank is not
  kDataLoading,  ///< the device is idle, and the host fetches a batch instead of launching work
  kHostLaunch,   ///< the device is idle, as the host has not launched its next work yet
  kIdle,         ///< the device is idle although its next work is launched, or has none
};
constexpr std::size_t kCauses = 7;

/// "compute", "memory_copy", "exposed_transfer", "waiting", "data_loading", "host_launch", "idle".
const char* cause_name(Cause cause);

/// A stretch of time, split by cause.
struct CauseTimes {
  std::array<Nanos, kCauses> by_cause{};
  /// kWaiting once more, by the rank that came last; adds up to it.
  std::map<std::int32_t, Nanos> waiting_for;
  Nanos communication = 0;  ///< data moved, hidden or not
  Nanos hidden = 0;         ///< the part of it behind compute and copies

  Nanos& operator[](Cause cause) { return by_cause[static_cast<std::size_t>(cause)]; }
  Nanos operator[](Cause cause) const { return by_cause[static_cast<std::size_t>(cause)]; }
  Nanos total() const;
  /// Names as JSON has them, waiting split into "waiting_for_rank_2" and so on; only what is not 0,
  /// in order of precedence. Adds up to total().
  std::vector<std::pair<std::string, Nanos>> named() const;
};

/// A stretch of time on one rank.
struct Window {
  std::int32_t rank = -1;
  Nanos begin = 0;
  Nanos end = 0;
};

/// Windows of one rank by time, those that overlap or touch joined.
std::vector<Window> merged(std::vector<Window> windows);

/// One entry a window, in a timeline given by the start and end of every op. Windows of one rank
/// must not overlap. `loading`: when hosts fetched data. A rank without streams (op timelines)
/// computes on its host lanes. O(n log n) in ops.
std::vector<CauseTimes> split_by_cause(const graph::Graph& graph, std::span<const Nanos> starts,
                                       std::span<const Nanos> ends,
                                       const std::vector<Window>& windows,
                                       const std::vector<Window>& loading = {});

/// The mean of several stretches, each part rounded down or up so that they add up to the mean of
/// the totals, rounded down.
CauseTimes mean_of(std::span<const CauseTimes> times);

}  // namespace weft::sim
