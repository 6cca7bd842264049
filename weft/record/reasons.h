// SPDX-License-Identifier: Apache-2.0
// Explains why a job has run but has not written a recording.
#pragma once

#include <string>
#include <vector>

#include "weft/record/folder.h"

namespace weft::record {

/// One sentence, with advice, for each process that died while a profiler was stopping.
std::vector<std::string> why_lost(const RecordedFolder& folder);

/// The likely reasons why nothing was recorded: one sentence with advice per reason, the most
/// specific reason first. Empty if something was recorded. If `mpi` is true, MPI calls were
/// requested, so logs of MPI calls count as a recording.
std::vector<std::string> why_empty(const RecordedFolder& folder, bool mpi);

}  // namespace weft::record
