// SPDX-License-Identifier: Apache-2.0
// All devices of one process, run from one call: arrays of a framework that has many devices in one
// process.
#pragma once

#include <vector>

#include "weft/reshard/execute/execute.h"

namespace weft::reshard::execute {

/// Runs programs of all devices of a problem, by device; `buffers`: those of each, as execute()
/// takes them. Uses the threads of base/parallel.h, with the same result on any number of them. An
/// Error (kUsage) where programs do not belong together, before anything is written. The usage is
/// that of all devices together.
Result<Usage> run_all(const std::vector<Program>& programs, const std::vector<Buffers>& buffers);

}  // namespace weft::reshard::execute
