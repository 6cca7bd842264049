// SPDX-License-Identifier: Apache-2.0
// Builds programs in place: the source may be overwritten, and source and target share one buffer.
// The buffer is as large as the most that the device holds in any layout of the route.
//
// Each kind of round needs its own way to run without a second buffer:
// - A slice moves the kept data together.
// - A gather moves the data that the device already has to its new place. Then it receives the rest
//   beside it.
// - A reduce-scatter adds to the kept data where it lies. Then it moves the sums together.
// - If devices exchange their data, the round is divided into sub-rounds. The first sub-round is
//   received into staging. Each later sub-round is received into the memory from which the
//   sub-round before was sent. Moves at the end put everything in order.
#pragma once

#include "weft/reshard/execute/program/program.h"

namespace weft::reshard::execute {

/// Does the same as make_program() with options.in_place, but for several devices at once. Most of
/// the work is done once for all devices. If `devices` is empty, only checks whether such programs
/// exist.
Result<std::vector<Program>> make_programs_in_place(const std::vector<Array>& arrays,
                                                    const std::vector<Device>& devices,
                                                    const ProgramOptions& options);

}  // namespace weft::reshard::execute
