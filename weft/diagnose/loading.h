// SPDX-License-Identifier: Apache-2.0
// Finds the times at which hosts fetched batches. The names of host ops and annotations show this.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "weft/predict/job.h"
#include "weft/sim/causes.h"

namespace weft::diagnose {

/// True if an annotation or host op of this name fetches a batch.
bool names_loading(std::string_view name);

/// Returns the intervals in which hosts fetched batches, on the clock of the job's graph. They may
/// overlap.
std::vector<sim::Window> loading_windows(const predict::Job& job);

/// The result of loading_windows(), prepared for fast lookups.
class LoadingTimes {
 public:
  explicit LoadingTimes(const predict::Job& job);

  /// Returns how much of the time from `begin` to `end` the rank spent fetching batches.
  Nanos overlap(std::int32_t rank, Nanos begin, Nanos end) const;

 private:
  /// One list per rank, sorted by time; joined where windows overlapped.
  std::map<std::int32_t, std::vector<sim::Window>> by_rank_;
};

}  // namespace weft::diagnose
