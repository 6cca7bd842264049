// SPDX-License-Identifier: Apache-2.0
// Schedules that follow a fixed pattern, whatever the times are. None looks at memory limits.
#pragma once

#include <string_view>

#include "weft/pipeline/schedule/schedule.h"

namespace weft::pipeline {

/// All forwards, then all backwards. Any placement.
Schedule gpipe(const Pipeline& pipeline);

/// Stage s of P starts with P - s forwards and then takes turns, a backward first. One stage a
/// device.
Result<Schedule> one_f_one_b(const Pipeline& pipeline);

/// 1F1B with several stages a device: stage s on device s modulo the number of devices.
/// Micro-batches go in rounds of about as many as there are devices. Fails on other placements.
Result<Schedule> interleaved_1f1b(const Pipeline& pipeline);

/// 1F1B with halved backwards: stage s runs the gradients of its weights s micro-batches late,
/// so that it holds no more than the first stage does. One stage a device.
Result<Schedule> zb_h1(const Pipeline& pipeline);

/// Two stages a device in the shape of a V (stage s and the s-th from the end share a device), with
/// halved backwards and the memory of 1F1B.
Result<Schedule> zb_v(const Pipeline& pipeline);

/// The same placement; forwards of one half run beside backwards of the other in turn. Needs as
/// many micro-batches as stages.
Result<Schedule> dual_pipe_v(const Pipeline& pipeline);

/// The schedule of that name: gpipe, 1f1b, interleaved, zb-h1, zb-v, dualpipe-v. An Error where
/// the placement does not allow it, or there is none of the name.
Result<Schedule> family(std::string_view name, const Pipeline& pipeline);

}  // namespace weft::pipeline
