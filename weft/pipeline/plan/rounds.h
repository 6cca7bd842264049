// SPDX-License-Identifier: Apache-2.0
// What memory does to the time of a stage that has its devices for itself. Where K micro-batches
// fit beside each other, micro-batch k + K starts when k has been there and back and made room, so
// the step goes in rounds. A stage that recomputes keeps more of them and takes longer for each:
// whatever a plan chooses, a stage runs in one of these two ways.
#pragma once

#include <algorithm>
#include <limits>

#include "weft/pipeline/fit/needs.h"

namespace weft::pipeline {

struct Way {
  Nanos path = 0;   ///< forward and backward of a micro-batch, less what may run later
  Nanos later = 0;  ///< gradients of parameters, where layers tell their time
  Micro fit = 0;    ///< micro-batches kept at once, at most; 0: none, it does not fit
  Nanos work() const { return path + later; }
};

struct Fits {
  Micro whole = 0, again = 0;
};

/// Micro-batches that `memory` (0: no limit) holds beside all else that the stage has.
inline Fits fits_of(const StageNeed& need, Bytes memory) {
  constexpr Micro kAny = std::numeric_limits<Micro>::max();
  if (memory == 0) return {kAny, kAny};
  const auto most = [&](Bytes free, Bytes each) {
    if (free < each) return Micro{0};
    return each == 0 ? kAny : static_cast<Micro>(std::min<Bytes>(free / each, kAny));
  };
  const Bytes free = memory - need.state;
  return {most(free, need.kept), most(free - need.kept, need.input)};
}

/// From the first op of a stage to its last gradient of an input at least, `behind` being the way
/// of a micro-batch through all that follows, there and back.
inline Nanos busy_in_rounds(Micro micro_batches, Nanos forward, const Way& way, Nanos behind) {
  const Nanos alone = micro_batches * way.path;
  if (way.fit >= micro_batches) return alone;
  const Nanos rounds = (micro_batches - 1) / way.fit, rest = (micro_batches - 1) % way.fit;
  return std::max(alone, rounds * (way.work() + behind) + rest * forward + way.path + behind);
}

}  // namespace weft::pipeline
