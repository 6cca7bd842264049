// SPDX-License-Identifier: Apache-2.0
// Computes how much a memory limit lengthens a stage that has its devices to itself. If a stage
// holds at most K micro-batches, micro-batch k + K cannot start before micro-batch k has passed the
// following stages forward and backward and has freed its memory. So the step proceeds in rounds of
// K micro-batches. A stage runs in one of two modes: it keeps its activations, or it recomputes
// them. A recomputing stage holds more micro-batches but takes longer for each.
#pragma once

#include <algorithm>
#include <limits>

#include "weft/pipeline/fit/needs.h"

namespace weft::pipeline {

/// The times of a stage in one of its two modes.
struct StageMode {
  Nanos path = 0;   ///< forward and backward of a micro-batch without the deferrable part
  Nanos later = 0;  ///< deferrable part: gradients of parameters, if layers give their time
  Micro fit = 0;    ///< most micro-batches held at once; 0: the stage does not fit in this mode
  Nanos work() const { return path + later; }
};

/// How many micro-batches a stage can hold in each mode.
struct Fits {
  Micro keeping = 0, recomputing = 0;
};

/// The micro-batches that fit into `memory` (0: no limit) beside the state of the stage.
inline Fits fits_of(const StageNeed& need, Bytes memory) {
  constexpr Micro kAny = std::numeric_limits<Micro>::max();
  if (memory == 0) return {kAny, kAny};
  const auto most = [&](Bytes free, Bytes each) {
    if (free < each) return Micro{0};
    return each == 0 ? kAny : static_cast<Micro>(std::min<Bytes>(free / each, kAny));
  };
  const Bytes free = memory - need.state;
  // A recomputing stage has one micro-batch in full and the inputs of all others.
  return {most(free, need.kept), most(free - need.kept, need.input)};
}

/// A lower bound of the time from the first op of a stage to its last gradient of an input.
/// `behind` is the time that a micro-batch needs forward and backward through everything behind the
/// stage.
inline Nanos busy_in_rounds(Micro micro_batches, Nanos forward, const StageMode& mode,
                            Nanos behind) {
  const Nanos compute = micro_batches * mode.path;
  if (mode.fit >= micro_batches) return compute;
  // The last micro-batch starts after all full rounds and after the forwards of the other
  // micro-batches in its round.
  const Nanos rounds = (micro_batches - 1) / mode.fit, rest = (micro_batches - 1) % mode.fit;
  return std::max(compute, rounds * (mode.work() + behind) + rest * forward + mode.path + behind);
}

}  // namespace weft::pipeline
