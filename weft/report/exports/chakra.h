// SPDX-License-Identifier: Apache-2.0
// Exports a job as Chakra execution traces, which ASTRA-sim and other simulators run: one file per
// rank with its compute and communication nodes, their durations and their dependencies.
#pragma once

#include <string>

#include "weft/base/diagnostics.h"
#include "weft/base/result.h"
#include "weft/predict/job.h"

namespace weft::report {

/// Writes PREFIX.RANK.et for every rank. If some collectives have groups smaller than the job, it
/// also writes PREFIX.groups.json with the members of these groups, in the format that ASTRA-sim
/// uses for communicator groups.
///
/// Durations are whole microseconds, rounded down. The remainder is added to the next node of the
/// same lane, so that rounding errors do not add up. Host work between two calls becomes a separate
/// node, and so does each pause of a stream. `diagnostics` counts what the format cannot express:
/// latencies between different lanes, collectives of unknown size or kind, and messages whose other
/// end was not recorded. Fails if a file cannot be written; in that case, the files of other ranks
/// may already exist.
Status write_chakra(const predict::Job& job, const std::string& prefix, Diagnostics& diagnostics);

}  // namespace weft::report
