// SPDX-License-Identifier: Apache-2.0
// Computes for every collective when each rank arrived, which rank arrived last, and how long the
// collective moved data after that.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/diagnose/causes.h"

namespace weft::diagnose {

struct CollectiveSkew {
  std::uint32_t collective = 0;  ///< index into Graph::collectives
  std::int64_t step = -1;  ///< step number, as the framework counts steps; -1 outside all steps
  Nanos first_arrival = 0;
  Nanos last_arrival = 0;  ///< when the last member arrived and the transfer could start
  Nanos end = 0;
  std::int32_t last_rank = -1;
  std::vector<std::int32_t> ranks;  ///< the members that were recorded
  std::vector<Nanos> late_by;       ///< one entry per member: its arrival minus the first arrival

  Nanos skew() const { return last_arrival - first_arrival; }
  Nanos transfer() const { return end - last_arrival; }
};

/// Returns the collectives and messages with at least two recorded members, sorted by their first
/// arrival.
std::vector<CollectiveSkew> find_skews(const predict::Job& job, const Times& times);

/// How late one rank is in all collectives together.
struct Lateness {
  std::int32_t rank = -1;
  std::int64_t collectives = 0;  ///< number of collectives in which it took part
  std::int64_t last = 0;         ///< number of collectives in which it arrived last
  Nanos made_wait = 0;           ///< sum of the skews of the collectives in which it arrived last
};
/// Returns one entry per rank that took part in a collective, sorted by rank.
std::vector<Lateness> lateness_by_rank(const std::vector<CollectiveSkew>& skews);

}  // namespace weft::diagnose
