// SPDX-License-Identifier: Apache-2.0
// The programs of devices that share a process, as one program of the process.
//
// Such devices reach each other's memory: what would be messages between them become moves, and one
// endpoint a process carries the messages of all its devices to those of others.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/base/result.h"
#include "weft/reshard/execute/program/program.h"

namespace weft::reshard::execute {

/// `programs`: of all devices of one process, by number of the device; all of them have the same
/// arrays. `process_of`: by device, where processes are numbered without gaps.
///
/// In the result processes are what devices are elsewhere. Array a of the i-th device is array
/// i * arrays + a, so that buffers are those of the first device, then those of the second, ...;
/// the last is the staging of all. An Error (kUsage) where something is to be added up inside the
/// process, which a move cannot do.
Result<Program> merge_programs(const std::vector<Program>& programs,
                               const std::vector<std::int32_t>& process_of);

}  // namespace weft::reshard::execute
