// SPDX-License-Identifier: Apache-2.0
// Puts all ranks on one clock. The members of a collective end together, and no message or transfer
// is received before it is sent. These facts determine how far the clock of each rank is off,
// relative to the clock of the first rank: its offset and its drift, each with an uncertainty.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/base/diagnostics.h"
#include "weft/base/units.h"
#include "weft/trace/events.h"
#include "weft/trace/match/match.h"

namespace weft::trace {

struct AlignOptions {
  /// If the recording is shorter than this, no rate is fitted. In a short recording, the jitter of
  /// the ends of collectives looks like drift.
  Nanos min_span_for_rate = 20 * kSecond;
  /// No computer clock drifts faster than this. A larger fitted rate means that the matches are
  /// wrong.
  std::int64_t max_rate_ppb = 1'000'000;
  /// A rate is fitted only if the half width of its 95 % interval is at most this.
  std::int64_t rate_resolution_ppb = 5'000;
};

/// aligned = t + offset + rate * (t - Alignment::origin). Here t counts from Alignment::epoch.
struct ClockFit {
  Nanos offset = 0;
  std::int64_t rate_ppb = 0;
  /// Half widths of 95 % intervals. If no rate was fitted, rate_uncertainty_ppb is the largest rate
  /// that the data allow.
  Nanos offset_uncertainty = 0;
  std::int64_t rate_uncertainty_ppb = 0;
  Nanos residual = 0;        ///< robust standard deviation of (this rank's ends - fit)
  std::int64_t samples = 0;  ///< number of ends of events that were used
  bool tied = true;  ///< false: no match or transfer connects this rank to the first one; offset 0
};

struct Alignment {
  /// Epoch of the first rank. All times in this struct, and all times after apply(), count from it.
  Nanos epoch = 0;
  Nanos origin = 0;  ///< time at which the offsets hold; about the middle of the recording
  std::vector<ClockFit> ranks;  ///< element i belongs to Run::ranks[i]; 0 is the reference
  /// Element i is what to add to the times of Run::bystanders[i]. It follows from the transfers
  /// between this bystander and ranks; it is 0 if there are no such transfers.
  std::vector<Nanos> bystanders;
};

/// Fits all clocks at once, from all matches. Outliers have little effect. The common end of every
/// match is an unknown too, so no rank has to take part in all matches. Ranks that name the same
/// host are assumed to agree, unless the data clearly contradict this. A clock that jumps is
/// reported, and the longer side of the jump is used. Cost: linear in the members of all matches;
/// the uncertainties take time cubic in the number of ranks. Never fails: a rank that cannot be
/// aligned has ClockFit::tied = false.
Alignment align(const Run& run, const std::vector<Match>& matches, const AlignOptions& options,
                Diagnostics& diagnostics);

/// Returns the time on the common clock at time `t` of a rank. `t` is relative to `rank_epoch`, the
/// epoch of this rank.
Nanos aligned_time(const Alignment& alignment, std::size_t rank, Nanos rank_epoch, Nanos t);

/// Moves all times of the run to the common clock, in place and in whole nanoseconds, and gives all
/// ranks and bystanders the same epoch.
void apply(Run& run, const Alignment& alignment);

}  // namespace weft::trace
