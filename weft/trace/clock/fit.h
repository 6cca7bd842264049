// SPDX-License-Identifier: Apache-2.0
// The numerical part of align(): robust least squares for the clocks of all ranks at once. Private
// to the alignment. Times are nanoseconds as double. A first guess of the offsets has already been
// added to all times. So the remaining differences are small, and a double holds them exactly.
#pragma once

#include <cstdint>
#include <vector>

namespace weft::trace {

/// The end of one event, in the time of one rank's clock.
struct ClockSample {
  std::uint32_t clock = 0;
  double end = 0;    ///< ns, with the first guess of the clock's offset applied
  double place = 0;  ///< position in the recording, from -1 (begin) to 1 (end)
  bool used = true;  ///< false: on the discarded side of a clock jump
};

/// Events that ended at the same instant, apart from jitter: all members of a collective, or a send
/// and its receive. A receive may end later than its send; this delay is the lag.
struct ClockObservation {
  std::uint32_t first = 0;  ///< index of the first sample
  std::uint32_t count = 0;  ///< number of samples
  std::uint32_t noise = 0;  ///< observations with the same number have the same (estimated) jitter
  std::int32_t pair = -1;   ///< messages with the same number have the same (estimated) lag
  double lag = 0;        ///< messages: factor of the lag, -1 to 1; > 0: samples[first] ends later
  bool one_way = false;  ///< a message whose two kernels send no message in the other direction
  double scale = 0;      ///< > 0: the jitter in ns, if it is known in advance
  bool hard = false;     ///< never treated as an outlier
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
  std::vector<double> spread;    ///< by clock: robust standard deviation of its residuals
  std::vector<double> residual;  ///< by sample: distance from the rest of its observation
  std::vector<double> weight;    ///< by sample, 0 (outlier) to 1
};

/// Whether to compute standard errors. Their computation takes time cubic in the number of clocks.
/// The fit itself takes time linear in the number of samples.
enum class ClockErrors { kWanted, kLeftOut };

/// Fits all clocks by iteratively reweighted least squares: first with Huber's weights, then with
/// Tukey's biweight. The result is deterministic.
ClockSolution fit_clocks(const ClockProblem& problem, ClockErrors errors);

}  // namespace weft::trace
