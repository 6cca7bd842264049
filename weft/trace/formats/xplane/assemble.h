// SPDX-License-Identifier: Apache-2.0
// Turns the planes of one process into one RankTrace per device.
#pragma once

#include <string>
#include <vector>

#include "weft/base/diagnostics.h"
#include "weft/trace/events.h"
#include "weft/trace/formats/xplane/raw_space.h"

namespace weft::trace::xplane {

/// JAX uses many devices from one process, and each device is a rank of the job. The device lanes
/// of the rank are its streams (GPU), its op lines (TPU), or the ops with its ordinal (CPU). Host
/// events are assigned as follows. If a thread launched work on only one device, the thread belongs
/// to this device. If a thread launched work on several devices, each call belongs to the device on
/// which it launched work. All other host events belong to the first device of the process. Every
/// rank gets the steps of the process. If there is no device, the host is one rank. The result is
/// empty if there are no events.
std::vector<RankTrace> assemble(const RawSpace& space, const std::string& file,
                                Diagnostics& diagnostics);

}  // namespace weft::trace::xplane
