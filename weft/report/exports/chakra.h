// SPDX-License-Identifier: Apache-2.0
// A job as Chakra execution traces, which ASTRA-sim and other simulators run: one file a rank with
// what it computes and communicates, how long that takes and what follows what.
#pragma once

#include <string>

#include "weft/base/diagnostics.h"
#include "weft/base/result.h"
#include "weft/predict/job.h"

namespace weft::report {

/// Writes PREFIX.RANK.et for every rank and, where collectives have groups smaller than the job,
/// PREFIX.groups.json with their members, in the form of ASTRA-sim's communicator groups.
///
/// Durations are whole microseconds; what rounding takes from one node of a lane, the next gets.
/// Host work between two calls and pauses of a stream become nodes of their own. What the format
/// cannot say is counted in `diagnostics`: latencies between different lanes, collectives of
/// unknown size or kind, messages whose other end was not recorded.
Status write_chakra(const predict::Job& job, const std::string& prefix, Diagnostics& diagnostics);

}  // namespace weft::report
