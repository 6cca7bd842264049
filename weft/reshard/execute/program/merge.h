// SPDX-License-Identifier: Apache-2.0
// Merges the programs of all devices of one process into one program of the process.
//
// Devices of one process can access each other's memory, so messages between them become moves.
// Each process has one endpoint, which carries all messages to devices of other processes.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/base/result.h"
#include "weft/reshard/execute/program/program.h"

namespace weft::reshard::execute {

/// `programs` are the programs of all devices of one process, in the order of device numbers. All
/// of them have the same arrays. `process_of` is indexed by device; processes are numbered without
/// gaps.
///
/// In the result, "devices" are processes. Array a of the i-th device is array i * arrays + a. So
/// the buffers of the first device come first, then those of the second, and so on. The last buffer
/// is the staging of all devices. Returns an Error (kUsage) if something has to be added up within
/// the process, since a move cannot add.
Result<Program> merge_programs(const std::vector<Program>& programs,
                               const std::vector<std::int32_t>& process_of);

}  // namespace weft::reshard::execute
