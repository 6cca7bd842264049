// SPDX-License-Identifier: Apache-2.0
// Turns matches into the observations that fit_clocks() takes. Private to the alignment.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/base/units.h"
#include "weft/trace/clock/fit.h"
#include "weft/trace/events.h"
#include "weft/trace/match/match.h"
#include "weft/trace/match/wire_match.h"

namespace weft::trace {

/// Two ranks that exchange with the same servers, whose answers come that far apart.
struct ExchangePair {
  std::uint32_t first = 0, second = 0;
  Nanos apart = 0;
};

/// A clock is a rank: profilers of two processes on one host convert device time separately.
struct ClockObservations {
  ClockProblem problem;
  std::vector<Nanos> guess;      ///< by rank: first guess, taken off the samples
  std::vector<bool> tied;        ///< by rank: connected to the first rank
  std::vector<double> duration;  ///< by sample, ns
  std::vector<ExchangePair> exchanged;
  Nanos origin = 0;      ///< middle of the recording on the first rank's clock
  double half_span = 1;  ///< ns from there to either end
};

/// `ties`: what transfers tell about the clocks of ranks.
ClockObservations observe_clocks(const Run& run, const std::vector<Match>& matches,
                                 const std::vector<ClockTie>& ties);

}  // namespace weft::trace
