// SPDX-License-Identifier: Apache-2.0
// Reader of the op timelines of ByteDance's straggler study (Chrome trace JSON, `timeline-*.json`).
// One file contains every worker of a pipeline- and data-parallel job. "pid" is the data-parallel
// rank. Each worker has five tracks. The thread_name of a track reads "PP rank 1, TP rank 0,
// dp-comm", for example, and its tid is 5 * global rank + number of the track. Every "X" event is a
// unit of work with step, model chunk, micro-batch and sequence number.
#pragma once

#include <memory>

#include "weft/trace/reader.h"

namespace weft::trace {

/// The reader gives one RankTrace per worker. It sets replica, stage and shard; all events have
/// EventKind::kPhase. The track names stand at the end of the file, so a cut file lacks them;
/// stages are then numbered in the order of ranks within a replica. If the file is cut, the step of
/// the last event is left out, because it is incomplete.
std::unique_ptr<Reader> make_straggler_reader();

}  // namespace weft::trace
