// SPDX-License-Identifier: Apache-2.0
// Makes the known schedules. They are fixed patterns that depend on the placement of stages but not
// on times. They ignore memory limits.
#pragma once

#include <string_view>

#include "weft/pipeline/schedule/schedule.h"

namespace weft::pipeline {

/// GPipe: every device runs all forwards, then all backwards. Works with any placement of stages.
Schedule gpipe(const Pipeline& pipeline);

/// 1F1B: stage s of P runs P - s forwards (its warm-up) and then alternates between one backward
/// and one forward. Fails if a device has more than one stage. warmed_up() in plan/evaluate.h is
/// another version of 1F1B, which keeps to memory limits.
Result<Schedule> one_f_one_b(const Pipeline& pipeline);

/// Interleaved 1F1B of Megatron-LM: stage s runs on device s modulo the number of devices.
/// Micro-batches go through each chunk in rounds. A round has about as many micro-batches as there
/// are devices. Fails on other placements.
Result<Schedule> interleaved_1f1b(const Pipeline& pipeline);

/// ZB-H1: 1F1B with backwards in halves. Stage s runs the gradients of its weights s micro-batches
/// late, so that it holds no more memory than the first stage. Fails if a device has more than one
/// stage.
Result<Schedule> zb_h1(const Pipeline& pipeline);

/// ZB-V: two stages per device in the shape of a V (stage s and the s-th stage from the end share a
/// device), backwards in halves, and the memory of 1F1B. Fails on other placements.
Result<Schedule> zb_v(const Pipeline& pipeline);

/// DualPipeV: the placement of ZB-V. Forwards of one half of the V alternate with backwards of the
/// other half. Fails on other placements and with fewer micro-batches than stages.
Result<Schedule> dual_pipe_v(const Pipeline& pipeline);

/// The schedule called gpipe, 1f1b, interleaved, zb-h1, zb-v or dualpipe-v. Fails if the placement
/// does not allow it or if there is no schedule of this name.
Result<Schedule> family(std::string_view name, const Pipeline& pipeline);

}  // namespace weft::pipeline
