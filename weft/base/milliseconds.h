// SPDX-License-Identifier: Apache-2.0
// Converts times to milliseconds for people and JSON. Only output uses this: calculations use whole
// nanoseconds.
#pragma once

#include "weft/base/units.h"

namespace weft {

constexpr double milliseconds(Nanos time) {
  return static_cast<double>(time) / static_cast<double>(kMillisecond);
}

}  // namespace weft
