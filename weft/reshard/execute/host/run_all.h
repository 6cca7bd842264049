// SPDX-License-Identifier: Apache-2.0
// Runs the programs of all devices of one process with one call, for frameworks that have many
// devices per process.
#pragma once

#include <vector>

#include "weft/reshard/execute/execute.h"

namespace weft::reshard::execute {

/// `programs`: of all devices of a problem, by device. `buffers`: for each device, as execute()
/// takes them. Uses the threads of base/parallel.h; the result is the same for any number of them.
/// An Error (kUsage), before anything is written, if the programs do not belong together. The usage
/// is that of all devices together.
Result<Usage> run_all(const std::vector<Program>& programs, const std::vector<Buffers>& buffers);

}  // namespace weft::reshard::execute
