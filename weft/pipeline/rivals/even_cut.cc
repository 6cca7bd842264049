// SPDX-License-Identifier: Apache-2.0
// even_cut() works in two steps. A bisection with a greedy test finds the least time of the slowest
// stage. A dynamic program over the ends of stages then minimizes the sum of squares among the cuts
// that reach this time.
#include "weft/pipeline/rivals/even_cut.h"

#include <algorithm>
#include <limits>

namespace weft::pipeline {
namespace {

/// Limit on a time, in nanoseconds. A device may have a speed of almost 0.
constexpr double kLongest = 1e18;

class EvenCut {
 public:
  EvenCut(const LayerChain& chain, const std::vector<double>& speeds)
      : chain_(chain), speeds_(speeds) {
    // All layers on the slowest device: an upper bound of the slowest stage.
    const double slowest = std::min(1.0, *std::min_element(speeds_.begin(), speeds_.end()));
    const double most = static_cast<double>(work(0, chain_.size())) / slowest;
    Nanos low = 0, high = static_cast<Nanos>(std::min(most, kLongest)) + 1;
    while (low < high) {
      const Nanos middle = low + (high - low) / 2;
      if (is_possible(static_cast<double>(middle)))
        high = middle;
      else
        low = middle + 1;
    }
    slowest_ = static_cast<double>(high);
  }

  std::vector<std::int32_t> ends() const {
    constexpr double kNever = std::numeric_limits<double>::infinity();
    const std::int32_t layers = chain_.size(), stages = count();
    const auto width = static_cast<std::size_t>(layers) + 1;
    // least[l]: the least sum of squares of the first s stages if they end before layer l.
    std::vector<double> least(width, kNever);
    std::vector<std::int32_t> from(width * static_cast<std::size_t>(stages));
    least[0] = 0;
    for (std::int32_t s = 0; s < stages; ++s) {
      std::vector<double> next(width, kNever);
      for (std::int32_t first = s; first < layers; ++first) {
        if (least[first] == kNever) continue;
        for (std::int32_t last = first + 1; last <= layers; ++last) {
          const double time = stage_time(first, last, s);
          if (time > slowest_) break;
          if (least[first] + time * time >= next[last]) continue;
          next[last] = least[first] + time * time;
          from[static_cast<std::size_t>(s) * width + last] = first;
        }
      }
      least = std::move(next);
    }
    std::vector<std::int32_t> ends(stages, layers);
    for (std::int32_t s = stages - 1; s > 0; --s) {
      ends[s - 1] = from[static_cast<std::size_t>(s) * width + ends[s]];
    }
    return ends;
  }

 private:
  std::int32_t count() const { return static_cast<std::int32_t>(speeds_.size()); }
  Nanos work(std::int32_t first, std::int32_t last) const {
    return chain_.forward[last] - chain_.forward[first] + chain_.backward[last] -
           chain_.backward[first];
  }
  double stage_time(std::int32_t first, std::int32_t last, std::int32_t stage) const {
    return static_cast<double>(work(first, last)) / speeds_[stage];
  }
  /// Whether the layers can be cut so that no stage takes longer than `slowest`. Greedy: each stage
  /// takes as many layers as it can, but leaves one layer for each stage that follows.
  bool is_possible(double slowest) const {
    std::int32_t first = 0;
    for (std::int32_t s = 0; s < count(); ++s) {
      const std::int32_t most = chain_.size() - (count() - 1 - s);
      std::int32_t last = first;
      while (last < most && stage_time(first, last + 1, s) <= slowest) ++last;
      if (last == first) return false;
      first = last;
    }
    return first == chain_.size();
  }

  const LayerChain& chain_;
  const std::vector<double>& speeds_;
  double slowest_ = 0;
};

}  // namespace

std::vector<std::int32_t> even_cut(const LayerChain& chain, const std::vector<double>& speeds) {
  return EvenCut(chain, speeds).ends();
}

std::vector<std::int32_t> proportional_cut(const LayerChain& chain, std::int32_t stages) {
  const auto work = [&](std::int32_t layer) {
    return static_cast<double>(chain.forward[layer] + chain.backward[layer]);
  };
  std::vector<std::int32_t> ends;
  for (std::int32_t s = 0; s + 1 < stages; ++s) {
    std::int32_t last = s > 0 ? ends.back() + 1 : 1;
    const std::int32_t most = chain.size() - (stages - 1 - s);
    while (last < most && work(last) < work(chain.size()) * (s + 1) / stages) ++last;
    ends.push_back(last);
  }
  ends.push_back(chain.size());
  return ends;
}

}  // namespace weft::pipeline
