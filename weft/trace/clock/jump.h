// SPDX-License-Identifier: Apache-2.0
// Finds the moment at which a clock was set during a recording. Private to the alignment.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace weft::trace {

struct ClockJump {
  std::size_t at = 0;  ///< first residual after the jump
  double size = 0;     ///< ns; positive if the clock was set forward
};

/// Looks for a jump in the residuals. Returns nullopt if there is none. residuals[k] (in ns)
/// belongs to times[k] (in any unit); `times` ascends. Uses Pettitt's test, which compares ranks
/// instead of values, so outliers and heavy tails do not matter. A steady drift is not a jump.
/// Takes O(n log n) time.
std::optional<ClockJump> find_jump(const std::vector<double>& times,
                                   const std::vector<double>& residuals);

}  // namespace weft::trace
