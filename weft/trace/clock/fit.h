// SPDX-License-Identifier: Apache-2.0
// The numbers behind align(): robust least squares for the clocks of all ranks at once. Private to
// the alignment. Times here are double nanoseconds, small because a first guess was taken off.
#pragma once

#include <cstdint>
#include <vector>

namespace weft::trace {

/// One member of an observation: an end on some clock.
struct ClockSample {
  std::uint32_t clock = 0;
  double end = 0;    ///< ns, after the first guess of the clock's offset
  double place = 0;  ///< where in the recording, -1 to 1
  bool used = true;  ///< false: on the discarded side of a clock jump
};

/// Ends that are one instant up to jitter: all members of a collective, or the two of a message, of
/// which the second may lag behind the first.
struct ClockObservation {
  std::uint32_t first = 0;  ///< range of samples
  std::uint32_t count = 0;
  std::uint32_t noise = 0;  ///< observations of one class share a jitter, found from the data
  std::int32_t pair = -1;   ///< messages: those of one kind between two clocks share one lag
  double lag = 0;           ///< messages: how much of that lag samples[first] has, -1 to 1
  bool one_way = false;     ///< a message that nothing answers
  double scale = 0;         ///< > 0: jitter in ns where it is known beforehand
  bool hard = false;        ///< never counts as an outlier
};

struct ClockProblem {
  std::uint32_t clocks = 0;
  std::uint32_t noises = 0;
  std::uint32_t pairs = 0;
  std::vector<ClockSample> samples;
  std::vector<ClockObservation> observations;
  std::vector<bool> fixed;      ///< clocks that define the scale: offset and rate 0
  std::vector<bool> with_rate;  ///< clocks whose rate is fitted
};

struct ClockSolution {
  std::vector<double> offset;        ///< ns
  std::vector<double> rate;          ///< ns from the middle of the recording to its end
  std::vector<double> offset_error;  ///< standard errors; empty unless wanted
  std::vector<double> rate_error;
  std::vector<double> spread;    ///< robust standard deviation of residuals, by clock
  std::vector<double> residual;  ///< by sample, against the other members of its observation
  std::vector<double> weight;    ///< by sample, 0 (outlier) to 1
};

/// Standard errors cost the cube of the number of clocks; the fit itself is linear in the samples.
enum class ClockErrors { kWanted, kLeftOut };

/// Iteratively reweighted: Huber, then Tukey's biweight. Deterministic.
ClockSolution fit_clocks(const ClockProblem& problem, ClockErrors errors);

}  // namespace weft::trace
