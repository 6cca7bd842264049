// SPDX-License-Identifier: Apache-2.0
// Programs in place: the source is given up, and source and target share one buffer, which is as
// large as the most that the device holds in any layout of the route.
//
// Each kind of round has its own way to do without a second buffer:
// - A slice compacts what it keeps.
// - A gather moves what the device already has to its new place, then receives the rest beside it.
// - A reduce-scatter adds to what the device keeps, where it lies, then compacts it.
// - If devices exchange what they have, the round is divided into sub-rounds. Each sub-round is
//   received into the memory from which the sub-round before was sent; the first one goes into
//   staging. Moves at the end put everything in order.
#pragma once

#include "weft/reshard/execute/program/program.h"

namespace weft::reshard::execute {

/// Does what make_program() does with options.in_place, for several devices at once, which share
/// most of the work. An empty `devices` only checks whether such programs exist.
Result<std::vector<Program>> make_programs_in_place(const std::vector<Array>& arrays,
                                                    const std::vector<Device>& devices,
                                                    const ProgramOptions& options);

}  // namespace weft::reshard::execute
