// SPDX-License-Identifier: Apache-2.0
// Pictures of schedules: a row a device, time to the right, idle time shaded. Several schedules
// stand under each other on one scale of time, so that they can be compared.
#pragma once

#include <span>

#include "weft/pipeline/schedule/simulate.h"

namespace weft::pipeline {

struct Drawn {
  std::string title;
  const Pipeline* pipeline = nullptr;
  const Schedule* schedule = nullptr;
  const Timeline* timeline = nullptr;
  std::vector<std::string> rows = {};  ///< names of the devices; empty: their numbers
  bool in_nanos = false;               ///< else times have no unit
};

/// Time that devices are idle until the step ends, of all their time: 0 to 1.
double idle_share(const Timeline& timeline);

/// An SVG document. Ops have a colour a kind and the number of their micro-batch where it fits.
std::string gantt_svg(std::span<const Drawn> drawn);

/// Lines of at most `columns` characters: F, I, W, B as in schedules, a light shade where idle.
std::string gantt_text(std::span<const Drawn> drawn, std::size_t columns);

}  // namespace weft::pipeline
