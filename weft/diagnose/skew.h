// SPDX-License-Identifier: Apache-2.0
// For every collective: when each rank arrived, which one arrived last, and how long data moved
// after that.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/diagnose/causes.h"

namespace weft::diagnose {

struct CollectiveSkew {
  std::uint32_t collective = 0;  ///< index into Graph::collectives
  std::int64_t step = -1;        ///< step number as the framework counts; -1 outside all steps
  Nanos first_arrival = 0;
  Nanos last_arrival = 0;  ///< the transfer starts here
  Nanos end = 0;
  std::int32_t last_rank = -1;
  std::vector<std::int32_t> ranks;  ///< members that were recorded
  std::vector<Nanos> late_by;       ///< by member: its arrival minus the first arrival

  Nanos skew() const { return last_arrival - first_arrival; }
  Nanos transfer() const { return end - last_arrival; }
};

/// Collectives and messages with at least two recorded members, in order of their first arrival.
std::vector<CollectiveSkew> find_skews(const predict::Job& job, const Times& times);

/// How late one rank is over all collectives.
struct Lateness {
  std::int32_t rank = -1;
  std::int64_t collectives = 0;  ///< number of collectives in which it took part
  std::int64_t last = 0;         ///< number of collectives in which it arrived last
  Nanos made_wait = 0;           ///< sum of skew over the collectives in which it arrived last
};
/// One entry per rank that took part in a collective, sorted by rank.
std::vector<Lateness> lateness_by_rank(const std::vector<CollectiveSkew>& skews);

}  // namespace weft::diagnose
