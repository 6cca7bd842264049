// SPDX-License-Identifier: Apache-2.0
// When hosts fetched batches, as far as the recording names it.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "weft/predict/job.h"
#include "weft/sim/causes.h"

namespace weft::diagnose {

/// Whether an annotation or host op of this name fetches a batch.
bool names_loading(std::string_view name);

/// On the clock of the job's graph.
std::vector<sim::Window> loading_windows(const predict::Job& job);

class LoadingTimes {
 public:
  explicit LoadingTimes(const predict::Job& job);

  /// How much of the time from `begin` to `end` the rank spent on it.
  Nanos overlap(std::int32_t rank, Nanos begin, Nanos end) const;

 private:
  std::map<std::int32_t, std::vector<sim::Window>> by_rank_;  ///< merged, by time
};

}  // namespace weft::diagnose
