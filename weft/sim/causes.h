// SPDX-License-Identifier: Apache-2.0
// Finds out what each rank spends its time on in a timeline. Every instant has exactly one cause.
// So the times of all causes in a window add up to the length of the window, in whole nanoseconds.
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

/// If several causes apply at one instant, the first one in this list counts.
enum class Cause : std::uint8_t {
  kCompute,      ///< a kernel runs; in op timelines: any work
  kMemoryCopy,   ///< a copy or memset runs
  kTransfer,     ///< data of a collective or message moves and no compute or copy hides it
  kWaiting,      ///< the rank is ready to communicate, but another rank is not
  kDataLoading,  ///< the device is idle because the host fetches a batch instead of launching work
  kHostLaunch,   ///< the device is idle because the host has not launched its next work yet
  kIdle,         ///< the device is idle although its next work is launched, or no work follows
};
constexpr std::size_t kCauses = 7;

/// "compute", "memory_copy", "exposed_transfer", "waiting", "data_loading", "host_launch", "idle".
const char* cause_name(Cause cause);

/// The length of a window, divided by cause.
struct CauseTimes {
  std::array<Nanos, kCauses> by_cause{};
  /// The time of kWaiting, divided by the rank that was waited for.
  std::map<std::int32_t, Nanos> waiting_for;
  Nanos communication = 0;  ///< time in which data moved, hidden or not
  Nanos hidden = 0;         ///< the part of `communication` during which compute or copies ran

  Nanos& operator[](Cause cause) { return by_cause[static_cast<std::size_t>(cause)]; }
  Nanos operator[](Cause cause) const { return by_cause[static_cast<std::size_t>(cause)]; }
  Nanos total() const;
  /// The causes under their JSON names, in order of precedence. Causes of 0 ns are left out.
  /// Waiting is divided into "waiting_for_rank_2" and so on. The times add up to total().
  std::vector<std::pair<std::string, Nanos>> named() const;
};

/// An interval of time on one rank.
struct Window {
  std::int32_t rank = -1;
  Nanos begin = 0;
  Nanos end = 0;
};

/// Sorts windows of one rank by time and joins those that overlap or touch.
std::vector<Window> merged(std::vector<Window> windows);

/// Returns one result per window. `starts` and `ends` are the timeline: the start and end of every
/// op. Windows of one rank must not overlap. `loading` are the intervals in which hosts fetched
/// batches. On a rank without streams (op timelines), host ops count as compute. O(n log n) in ops.
std::vector<CauseTimes> split_by_cause(const graph::Graph& graph, std::span<const Nanos> starts,
                                       std::span<const Nanos> ends,
                                       const std::vector<Window>& windows,
                                       const std::vector<Window>& loading = {});

/// Returns the mean over several windows. Its total is the mean of their totals, rounded down. Each
/// part is rounded up or down so that the parts add up to this total.
CauseTimes mean_of(std::span<const CauseTimes> times);

}  // namespace weft::sim
