// SPDX-License-Identifier: Apache-2.0
// Writes a schedule with all actions that torch runs: ops, messages, and the gathering and release
// of parameters that fully sharded stages (FSDP) need.
#pragma once

#include "weft/pipeline/exports/scheduled.h"

namespace weft::pipeline::exports {

/// One line per rank, with commas between actions. A send directly follows its op. The receiving
/// rank gets the receive at the position that this rank has reached in the simulation at the time
/// of the send. So any two ranks have their messages in the same order, and no rank waits for a
/// message that has not been sent. The parameters of a stage are gathered before it runs, at most
/// three stages of a rank at a time. `reduce_grad`: add REDUCE_GRAD actions.
std::string compute_comms(const Pipeline& pipeline, const Schedule& schedule,
                          const Timeline& timeline, const EqualRanks& ranks, bool reduce_grad);

}  // namespace weft::pipeline::exports
