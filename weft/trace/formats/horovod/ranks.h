// SPDX-License-Identifier: Apache-2.0
// A Horovod timeline as RankTraces. Only the coordinator (rank 0) writes who was ready when, but it
// writes it for all ranks, so one file of it gives a trace of every rank:
//
//   host lane     "enqueue" at the moment the rank was ready; "synchronize" to the end of the step
//   stream lane   one kernel a response, from the rank's arrival to the end of the collective
//   activity lane what the recording rank did in it: NEGOTIATE, QUEUE, MEMCPY, NCCL ... (no work of
//                 its own to the graph)
//
// So the kernels of one response start apart, as ranks arrive, and end together: what the matching
// and the graph make of NCCL kernels holds for them unchanged.
#pragma once

#include <vector>

#include "weft/trace/events.h"
#include "weft/trace/formats/horovod/timeline.h"

namespace weft::trace::horovod {

struct RankTraces {
  std::vector<RankTrace> ranks;
  std::int64_t unknown_arrivals = 0;  ///< responses that do not tell when each rank was ready
};

/// All ranks if most responses of the steps tell their arrivals, else `recorder` alone (-1: told by
/// the file name or unknown). `responses` in order of start.
RankTraces make_ranks(const Timeline& timeline, const std::vector<Response>& responses,
                      std::int32_t recorder);

}  // namespace weft::trace::horovod
