// SPDX-License-Identifier: Apache-2.0
// The numerical part of align(): robust least squares for the clocks of all ranks at once. Private
// to the alignment. Times are nanoseconds as double. They are small enough to be exact, because a
// first guess of the offsets has been applied.
#pragma once

#include <cstdint>
#include <vector>

namespace weft::trace {

/// One end, as one clock showed it.
struct ClockSample {
  std::uint32_t clock = 0;
  double end = 0;    ///< ns, with the first guess of the clock's offset applied
  double place = 0;  ///< position in the recording, from -1 (begin) to 1 (end)
  bool used = true;  ///< false: on the discarded side of a clock jump
};

/// Ends that are the same instant, up to jitter: those of all members of a collective, or those of
/// a send and its receive. A receive may end later than its send by a lag.
struct ClockObservation {
  std::uint32_t first = 0;  ///< index of the first sample
  std::uint32_t count = 0;  ///< number of samples
  std::uint32_t noise = 0;  ///< noise class: its observations share a jitter, which is estimated
  std::int32_t pair = -1;   ///< messages: those of one kind between two clocks share one lag
  double lag = 0;           ///< messages: the part of that lag that samples[first] has, -1 to 1
  bool one_way = false;     ///< a message without a message back by the same kernels
  double scale = 0;         ///< > 0: the jitter in ns, if it is known in advance
  bool hard = false;        ///< never treated as an outlier
};

struct ClockProblem {
  std::uint32_t clocks = 0;
  std::uint32_t noises = 0;
  std::uint32_t pairs = 0;
  std::vector<ClockSample> samples;
  std::vector<ClockObservation> observations;
  std::vector<bool> fixed;      ///< reference clocks: offset and rate are 0
  std::vector<bool> with_rate;  ///< clocks whose rate is fitted
};

struct ClockSolution {
  std::vector<double> offset;        ///< ns
  std::vector<double> rate;          ///< ns of drift from the middle of the recording to its end
  std::vector<double> offset_error;  ///< standard errors; empty with ClockErrors::kLeftOut
  std::vector<double> rate_error;
  std::vector<double> spread;    ///< robust standard deviation of residuals, by clock
  std::vector<double> residual;  ///< by sample, against the other members of its observation
  std::vector<double> weight;    ///< by sample, 0 (outlier) to 1
};

/// Whether to compute standard errors. They take time cubic in the number of clocks; the fit itself
/// is linear in the samples.
enum class ClockErrors { kWanted, kLeftOut };

/// Iteratively reweighted least squares: first with Huber's weights, then with Tukey's biweight.
/// Deterministic.
ClockSolution fit_clocks(const ClockProblem& problem, ClockErrors errors);

}  // namespace weft::trace
