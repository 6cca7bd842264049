// SPDX-License-Identifier: Apache-2.0
// Programs that give up the source: one buffer for both ends of an array, as large as the larger of
// what a device holds on its way.
//
// A round of each kind has a way to do without a second buffer. Slices are moved together; what a
// gather keeps is moved to its new place, and the rest is received beside it; what a reduce-scatter
// keeps is added to where it lies, then moved together. Where devices swap what they have, it goes
// in shares: what comes is put where the share before went from, the first share into staging, and
// moves in the end put everything in order.
#pragma once

#include "weft/reshard/execute/program/program.h"

namespace weft::reshard::execute {

/// What make_program() does with options.in_place, for several devices, which share most of the
/// work. Without any, only whether there are such programs.
Result<std::vector<Program>> make_programs_in_place(const std::vector<Array>& arrays,
                                                    const std::vector<Device>& devices,
                                                    const ProgramOptions& options);

}  // namespace weft::reshard::execute
