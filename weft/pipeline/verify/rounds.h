// SPDX-License-Identifier: Apache-2.0
// Two ways to run a stage within limits of memory, and how long it is busy in each at least.
#pragma once

#include <algorithm>

#include "weft/base/units.h"

namespace weft::pipeline::verify {

/// A stage keeps all of its micro-batches, or their inputs alone and runs forwards once more.
struct Way {
  Nanos path = 0, later = 0;
  std::int64_t fit = 0;  ///< micro-batches that its devices hold at once; 0: not one
  Nanos work() const { return path + later; }
};

/// From the first op of a stage to its last gradient of an input: a micro-batch that does not fit
/// beside those before it waits for one of them to come back, through all that lies `behind`, and
/// to make room.
inline Nanos busy_time(std::int64_t micro_batches, Nanos forward, const Way& way, Nanos behind) {
  const Nanos alone = micro_batches * way.path;
  if (way.fit >= micro_batches) return alone;
  const std::int64_t waits = (micro_batches - 1) / way.fit;
  const std::int64_t others = (micro_batches - 1) % way.fit;
  return std::max(alone, waits * (way.work() + behind) + others * forward + way.path + behind);
}

}  // namespace weft::pipeline::verify
