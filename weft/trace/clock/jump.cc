// SPDX-License-Identifier: Apache-2.0
// Finds jumps with Pettitt's test for a change point (Pettitt 1979). The test replaces the
// residuals by their ranks. For every split, it compares the sum of the ranks before the split with
// its expected value. The split with the largest difference K is the candidate. Its significance is
// about 2 exp(-6 K^2 / (n^3 + n^2)). A candidate is a jump if it passes three checks: it is
// significant; it is large compared with the jitter before it and after it; and a step explains the
// residuals better than a straight line does.
#include "weft/trace/clock/jump.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "weft/base/median.h"

namespace weft::trace {
namespace {

constexpr std::size_t kMinSide = 5;       // least number of residuals on each side
constexpr double kSmallest = 100e3;       // ns; a smaller jump does no harm
constexpr double kTimesJitter = 6;        // least size of a jump in units of the jitter
constexpr double kSignificance = 1e-6;    // largest p-value of Pettitt's test
constexpr std::size_t kSlopePairs = 400;  // pairs of residuals; the slope is the median over them

// Returns a robust standard deviation: 1.4826 times the median absolute deviation.
double jitter(const std::vector<double>& values) {
  const double centre = median(values);
  std::vector<double> away;
  for (const double v : values) away.push_back(std::abs(v - centre));
  return 1.4826 * median(std::move(away));
}

// Returns the slope of a straight line through the residuals. It is the median slope over pairs
// that are half of the recording apart (the Theil-Sen estimator, on a subset of the pairs).
double slope(const std::vector<double>& times, const std::vector<double>& residuals) {
  const std::size_t half = times.size() / 2;
  const std::size_t step = std::max<std::size_t>(1, half / kSlopePairs);
  std::vector<double> slopes;
  for (std::size_t i = 0; i + half < times.size(); i += step) {
    const double dt = times[i + half] - times[i];
    if (dt > 0) slopes.push_back((residuals[i + half] - residuals[i]) / dt);
  }
  return slopes.empty() ? 0 : median(std::move(slopes));
}

}  // namespace

std::optional<ClockJump> find_jump(const std::vector<double>& times,
                                   const std::vector<double>& residuals) {
  const std::size_t n = residuals.size();
  if (n < 2 * kMinSide) return std::nullopt;
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return residuals[a] < residuals[b]; });
  std::vector<double> rank(n);
  for (std::size_t k = 0; k < n; ++k) rank[order[k]] = static_cast<double>(k + 1);

  const double size = static_cast<double>(n);
  double sum = 0;
  double largest = 0;
  std::size_t at = 0;
  for (std::size_t k = 0; k + kMinSide < n; ++k) {
    sum += rank[k];
    const double statistic = std::abs(2 * sum - static_cast<double>(k + 1) * (size + 1));
    if (k + 1 >= kMinSide && statistic > largest) {
      largest = statistic;
      at = k + 1;
    }
  }
  if (at == 0) return std::nullopt;
  const double chance = 2 * std::exp(-6 * largest * largest / (size * size * size + size * size));
  // With few samples, even a perfect step cannot reach this significance. Then a weaker
  // significance is accepted, and the check of the jump's size below decides.
  const bool few = n < 40;
  if (chance > (few ? 1e-2 : kSignificance)) return std::nullopt;

  const auto middle = residuals.begin() + static_cast<std::ptrdiff_t>(at);
  const std::vector<double> before(residuals.begin(), middle);
  const std::vector<double> after(middle, residuals.end());
  const double jump = median(after) - median(before);
  const double within = std::max(jitter(before), jitter(after));
  if (std::abs(jump) < std::max(kSmallest, kTimesJitter * within)) return std::nullopt;

  // The step must leave at most half of the jitter that a straight line leaves.
  const double drift = slope(times, residuals);
  std::vector<double> straightened;
  for (std::size_t i = 0; i < n; ++i) straightened.push_back(residuals[i] - drift * times[i]);
  if (within > 0.5 * jitter(straightened)) return std::nullopt;
  return ClockJump{at, jump};
}

}  // namespace weft::trace
