// SPDX-License-Identifier: Apache-2.0
// Why a job that ran has left no recording.
#pragma once

#include <string>
#include <vector>

#include "weft/record/folder.h"

namespace weft::record {

/// Which processes died while a profiler was ending, and what to do about it: one sentence each.
std::vector<std::string> why_lost(const RecordedFolder& folder);

/// Why there is nothing, and what to do about it: one sentence each, most telling first. Empty if
/// something was recorded. `mpi`: calls of MPI were asked for, so that these alone will do.
std::vector<std::string> why_empty(const RecordedFolder& folder, bool mpi);

}  // namespace weft::record
