// SPDX-License-Identifier: Apache-2.0
// Draws schedules: one row per device, time from left to right, idle time shaded. Several schedules
// are drawn below each other on the same time scale, so that they can be compared.
#pragma once

#include <span>

#include "weft/pipeline/schedule/simulate.h"

namespace weft::pipeline {

struct Drawn {
  std::string title;
  const Pipeline* pipeline = nullptr;
  const Schedule* schedule = nullptr;
  const Timeline* timeline = nullptr;
  std::vector<std::string> rows = {};  ///< names of the rows; empty: the device numbers
  bool in_nanos = false;               ///< times are nanoseconds; if not, they have no unit
};

/// The share of the time of all devices, from the start to the end of the step, in which they are
/// idle: 0 to 1.
double idle_share(const Timeline& timeline);

/// An SVG document. The colour of an op shows its kind; the number of its micro-batch is printed if
/// there is room for it.
std::string gantt_svg(std::span<const Drawn> drawn);

/// Text with lines of at most `columns` characters: F, I, W and B as in schedules, a light shade
/// for idle time.
std::string gantt_text(std::span<const Drawn> drawn, std::size_t columns);

}  // namespace weft::pipeline
