// SPDX-License-Identifier: Apache-2.0
// One clock for all ranks. Members of a collective end together and neither a message nor a single
// transfer is received before it is sent; from that follow, for every rank, how far its clock is
// off and how fast it drifts, relative to the first rank, and how sure that is.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/base/diagnostics.h"
#include "weft/base/units.h"
#include "weft/trace/events.h"
#include "weft/trace/match/match.h"

namespace weft::trace {

struct AlignOptions {
  /// Over a shorter recording the jitter of ends looks like drift, so no rate is fitted.
  Nanos min_span_for_rate = 20 * kSecond;
  /// No computer clock is this wrong; a larger slope means that the matches are.
  std::int64_t max_rate_ppb = 1'000'000;
  /// A rate is fitted only if it can be told to this precision (half width of its 95 % interval).
  std::int64_t rate_resolution_ppb = 5'000;
};

/// aligned = t + offset + rate * (t - Alignment::origin), t counted from Alignment::epoch.
struct ClockFit {
  Nanos offset = 0;
  std::int64_t rate_ppb = 0;
  /// Half widths of 95 % intervals. For a rate that was not fitted: how large it may be unseen.
  Nanos offset_uncertainty = 0;
  std::int64_t rate_uncertainty_ppb = 0;
  Nanos residual = 0;        ///< robust standard deviation of this rank's ends about the fit
  std::int64_t samples = 0;  ///< ends used
  bool tied = true;          ///< false: nothing connects this rank to the first one; offset 0
};

struct Alignment {
  Nanos epoch = 0;   ///< of the first rank; all times below and after apply() count from it
  Nanos origin = 0;  ///< where the offsets hold; about the middle of the recording
  std::vector<ClockFit> ranks;  ///< as Run::ranks; the first one is the reference
  /// As Run::bystanders: what to add to their times, from what they sent to ranks and got from
  /// them; 0 where that is nothing.
  std::vector<Nanos> bystanders;
};

/// Joint robust fit over all matches, not against one rank: the common end of every match is an
/// unknown too. Ranks named to be on one host are taken to agree unless the data clearly say
/// otherwise. A clock that jumps is reported, and the longer side of the jump is used. Cost: linear
/// in the members of all matches, but for the uncertainties, which are cubic in the ranks.
Alignment align(const Run& run, const std::vector<Match>& matches, const AlignOptions& options,
                Diagnostics& diagnostics);

/// Where time `t` of a rank (relative to that rank's own epoch) lies on the common clock.
Nanos aligned_time(const Alignment& alignment, std::size_t rank, Nanos rank_epoch, Nanos t);

/// Moves events, steps and flows in place, in whole nanoseconds, and gives all ranks one epoch.
void apply(Run& run, const Alignment& alignment);

}  // namespace weft::trace
