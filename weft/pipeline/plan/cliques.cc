// SPDX-License-Identifier: Apache-2.0
// For each number of devices, bisects over the bandwidths that occur in the cluster. One probe
// joins all pairs that have at least that bandwidth, and asks whether this graph contains a clique
// of the wanted size. It answers by backtracking over bit sets.
#include "weft/pipeline/plan/cliques.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace weft::pipeline {
namespace {

constexpr std::int32_t kMostSteps = 20'000;  ///< effort of one probe

/// Whether `wanted` of the devices form a clique. Sets of devices are bit masks. Answers true if
/// the search gives up, so that the bandwidth is overestimated and bounds stay valid.
class CliqueSearch {
 public:
  CliqueSearch(std::vector<std::uint64_t> joined, std::int32_t wanted)
      : joined_(std::move(joined)), wanted_(wanted) {}

  /// Tries to extend a clique of `size` devices by the candidates. Each candidate is joined to all
  /// devices of the clique.
  bool found(std::uint64_t candidates, std::int32_t size) {
    if (size >= wanted_ || ++steps_ > kMostSteps) return true;
    while (size + std::popcount(candidates) >= wanted_) {
      const int device = std::countr_zero(candidates);
      candidates &= candidates - 1;
      if (found(candidates & joined_[device], size + 1)) return true;
    }
    return false;
  }

 private:
  std::vector<std::uint64_t> joined_;
  std::int32_t wanted_, steps_ = 0;
};

std::vector<std::uint64_t> joined_by(const Cluster& cluster, std::int64_t bandwidth) {
  std::vector<std::uint64_t> joined(cluster.devices, 0);
  for (std::int32_t i = 0; i < cluster.devices; ++i) {
    for (std::int32_t j = 0; j < cluster.devices; ++j) {
      const bool both =
          cluster.bandwidth_of(i, j) >= bandwidth && cluster.bandwidth_of(j, i) >= bandwidth;
      if (i != j && both) joined[i] |= std::uint64_t{1} << j;
    }
  }
  return joined;
}

}  // namespace

std::vector<std::int64_t> clique_bandwidths(const Cluster& cluster) {
  std::vector<std::int64_t> known = cluster.bandwidth;
  known.push_back(0);
  std::sort(known.begin(), known.end());
  known.erase(std::unique(known.begin(), known.end()), known.end());
  const std::uint64_t all = ~std::uint64_t{0} >> (kMostInClique - cluster.devices);
  std::vector<std::int64_t> best(cluster.devices + 1, std::numeric_limits<std::int64_t>::max());
  // A larger clique never has more bandwidth, so each bisection starts at the previous answer.
  std::size_t high = known.size() - 1;
  for (std::int32_t r = 2; r <= cluster.devices; ++r) {
    std::size_t low = 0;
    while (low < high) {
      const std::size_t middle = (low + high + 1) / 2;
      if (CliqueSearch(joined_by(cluster, known[middle]), r).found(all, 0))
        low = middle;
      else
        high = middle - 1;
    }
    best[r] = known[low];
  }
  return best;
}

}  // namespace weft::pipeline
