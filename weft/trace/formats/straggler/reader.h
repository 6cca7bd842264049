// SPDX-License-Identifier: Apache-2.0
// Op timelines of ByteDance's straggler study (Chrome JSON, `timeline-*.json`): one file holds
// every worker of a pipeline- and data-parallel job. pid is the data-parallel rank; a track's
// thread_name reads "PP rank 1, TP rank 0, dp-comm" and its tid is 5 * global rank + number of the
// track. Every "X" event is a unit of work with step, model chunk, micro-batch and sequence number.
#pragma once

#include <memory>

#include "weft/trace/reader.h"

namespace weft::trace {

/// Gives one RankTrace a worker, with replica, stage and shard set, all events EventKind::kPhase.
/// Where track names are missing (a cut file: they come last), stages are told from the order of
/// ranks within a replica. The step at which a file was cut is left out.
std::unique_ptr<Reader> make_straggler_reader();

}  // namespace weft::trace
