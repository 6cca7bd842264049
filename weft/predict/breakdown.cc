// SPDX-License-Identifier: Apache-2.0
#include "weft/predict/breakdown.h"

namespace weft::predict {

std::vector<Breakdown> break_down(const graph::Graph& graph, std::span<const Nanos> starts,
                                  std::span<const Nanos> ends, const std::vector<Window>& windows) {
  using sim::Cause;
  std::vector<Breakdown> result;
  for (const sim::CauseTimes& times : sim::split_by_cause(graph, starts, ends, windows)) {
    result.push_back(
        {times[Cause::kCompute] + times[Cause::kMemoryCopy], times[Cause::kTransfer],
         times[Cause::kWaiting],
         times[Cause::kDataLoading] + times[Cause::kHostLaunch] + times[Cause::kIdle]});
  }
  return result;
}

}  // namespace weft::predict
