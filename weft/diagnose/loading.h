// SPDX-License-Identifier: Apache-2.0
// When hosts fetched batches, judged by the names of host ops and annotations.
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

/// The intervals in which hosts fetched batches, on the clock of the job's graph. Not merged.
std::vector<sim::Window> loading_windows(const predict::Job& job);

/// The same, prepared for lookups.
class LoadingTimes {
 public:
  explicit LoadingTimes(const predict::Job& job);

  /// How much of the time from `begin` to `end` the rank spent fetching batches.
  Nanos overlap(std::int32_t rank, Nanos begin, Nanos end) const;

 private:
  std::map<std::int32_t, std::vector<sim::Window>> by_rank_;  ///< merged, by time
};

}  // namespace weft::diagnose
