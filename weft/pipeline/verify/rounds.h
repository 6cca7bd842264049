// SPDX-License-Identifier: Apache-2.0
// A stage can run in two modes within a memory limit. This header computes the least time that the
// stage is busy in each mode.
#pragma once

#include <algorithm>

#include "weft/base/units.h"

namespace weft::pipeline::verify {

/// One of the two modes. Either a stage keeps all activations of its micro-batches, or it keeps
/// only their inputs and runs the forwards again.
struct StageMode {
  Nanos path = 0;        ///< per micro-batch: forward and gradient of the input
  Nanos later = 0;       ///< per micro-batch: gradient of the weights; no other stage waits for it
  std::int64_t fit = 0;  ///< micro-batches that fit into memory at once; 0: not even one
  Nanos work() const { return path + later; }
};

/// The least time from the first op of a stage to its last gradient of an input. If only K
/// micro-batches fit, each further micro-batch waits until an earlier one has passed the later
/// stages and has freed its memory. `behind` is the time that a micro-batch takes through all later
/// stages to the end and back.
inline Nanos busy_time(std::int64_t micro_batches, Nanos forward, const StageMode& mode,
                       Nanos behind) {
  const Nanos alone = micro_batches * mode.path;
  if (mode.fit >= micro_batches) return alone;
  const std::int64_t waits = (micro_batches - 1) / mode.fit;
  const std::int64_t others = (micro_batches - 1) % mode.fit;
  return std::max(alone, waits * (mode.work() + behind) + others * forward + mode.path + behind);
}

}  // namespace weft::pipeline::verify
