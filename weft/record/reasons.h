// SPDX-License-Identifier: Apache-2.0
// Explains why a job that ran has left no recording.
#pragma once

#include <string>
#include <vector>

#include "weft/record/folder.h"

namespace weft::record {

/// The processes that died while a profiler was stopping, and advice: one sentence per process.
std::vector<std::string> why_lost(const RecordedFolder& folder);

/// The likely reasons why nothing was recorded, and advice: one sentence per reason, most specific
/// first. Empty if something was recorded. `mpi`: MPI calls were requested, so logs of them count
/// as a recording.
std::vector<std::string> why_empty(const RecordedFolder& folder, bool mpi);

}  // namespace weft::record
