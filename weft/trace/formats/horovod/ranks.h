// SPDX-License-Identifier: Apache-2.0
// Turns a Horovod timeline into RankTraces. Only the coordinator (rank 0) writes when each rank was
// ready, but it writes this for all ranks. So the coordinator's file gives a trace of every rank:
//
//   host lane     "enqueue" when the rank was ready; "synchronize" until the end of the step
//   stream lane   one kernel per response, from the rank's arrival to the end of the collective
//   activity lane what the recording rank did during the response: NEGOTIATE, QUEUE, MEMCPY,
//                 NCCL ... (annotations, which are no ops of the graph)
//
// The kernels of one response start when their ranks arrive and end together. NCCL kernels in a
// profile look the same. So the same code matches Horovod timelines and profiles, and builds the
// graph from either.
#pragma once

#include <vector>

#include "weft/trace/events.h"
#include "weft/trace/formats/horovod/timeline.h"

namespace weft::trace::horovod {

struct RankTraces {
  std::vector<RankTrace> ranks;
  std::int64_t unknown_arrivals = 0;  ///< responses for which some rank has no ready mark
};

/// Gives a trace of every rank if at least half of the responses in steps have the arrivals of all
/// ranks. Otherwise gives a trace of the recording rank alone: rank 0 if there are any ready marks,
/// else `recorder` (the rank in the file name, or -1). `responses` must be sorted by start.
RankTraces make_ranks(const Timeline& timeline, const std::vector<Response>& responses,
                      std::int32_t recorder);

}  // namespace weft::trace::horovod
