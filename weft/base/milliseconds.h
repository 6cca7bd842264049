// SPDX-License-Identifier: Apache-2.0
// Times as people and JSON read them. For output only: sums are made in whole nanoseconds.
#pragma once

#include "weft/base/units.h"

namespace weft {

constexpr double milliseconds(Nanos time) {
  return static_cast<double>(time) / static_cast<double>(kMillisecond);
}

}  // namespace weft
