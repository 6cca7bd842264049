// SPDX-License-Identifier: Apache-2.0
// Runs the programs of all devices of one process with one call, for frameworks that have many
// devices per process.
#pragma once

#include <vector>

#include "weft/reshard/execute/execute.h"

namespace weft::reshard::execute {

/// `programs` has one program per device of the problem, indexed by device. `buffers` has the
/// buffers of each device, as execute() takes them. Uses the threads of base/parallel.h. The result
/// is the same for any number of threads. If the programs do not belong together, returns an Error
/// (kUsage) before anything is written. The returned usage is the total of all devices.
Result<Usage> run_all(const std::vector<Program>& programs, const std::vector<Buffers>& buffers);

}  // namespace weft::reshard::execute
