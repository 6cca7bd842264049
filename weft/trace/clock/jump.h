// SPDX-License-Identifier: Apache-2.0
// Finds the place where a clock was set during a recording. Private to the alignment.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace weft::trace {

struct ClockJump {
  std::size_t at = 0;  ///< first residual after the jump
  double size = 0;     ///< ns, how much later the clock is after it
};

/// `residuals` (ns) in order of `times` (any unit). Rank-based (Pettitt's test), so that single
/// outliers and heavy tails do not matter; a steady drift is no jump.
std::optional<ClockJump> find_jump(const std::vector<double>& times,
                                   const std::vector<double>& residuals);

}  // namespace weft::trace
