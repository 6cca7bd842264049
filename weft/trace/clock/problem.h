// SPDX-License-Identifier: Apache-2.0
// Turns matches and transfers into the observations that fit_clocks() takes. Private to the
// alignment.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/base/units.h"
#include "weft/trace/clock/fit.h"
#include "weft/trace/events.h"
#include "weft/trace/match/match.h"
#include "weft/trace/match/wire_match.h"

namespace weft::trace {

/// Two ranks that exchange data with the same parameter servers.
struct ExchangePair {
  std::uint32_t first = 0, second = 0;
  Nanos apart = 0;  ///< median time between the ends of their exchanges
};

/// Every rank has a separate clock, even if ranks run on the same host: the profiler of each
/// process converts device time to host time separately.
struct ClockObservations {
  ClockProblem problem;
  std::vector<Nanos> guess;  ///< by rank: first guess of the offset, applied to the samples
  std::vector<bool> tied;    ///< by rank: whether matches or transfers connect it to the first rank
  std::vector<double> duration;  ///< by sample, ns
  std::vector<ExchangePair> exchanged;
  Nanos origin = 0;      ///< middle of the recording on the first rank's clock
  double half_span = 1;  ///< ns from the origin to either end of the recording
};

/// Makes the observations of a run. `ties` is the result of ties_between_ranks(). Takes O(n log n)
/// time in the members of all matches.
ClockObservations observe_clocks(const Run& run, const std::vector<Match>& matches,
                                 const std::vector<ClockTie>& ties);

}  // namespace weft::trace
