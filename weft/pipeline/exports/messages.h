// SPDX-License-Identifier: Apache-2.0
// A schedule with its messages and what fully sharded stages need, as torch runs it.
#pragma once

#include "weft/pipeline/exports/scheduled.h"

namespace weft::pipeline::exports {

/// A line a rank, actions between commas. Every send stands behind its op; the receive stands where
/// its rank has got to by then, so any two ranks see their messages in one order and none waits for
/// a message that is not under way. Parameters of a stage are gathered before it runs, of three
/// stages at a time.
std::string compute_comms(const Pipeline& pipeline, const Schedule& schedule,
                          const Timeline& timeline, const EqualRanks& ranks, bool reduce_grad);

}  // namespace weft::pipeline::exports
