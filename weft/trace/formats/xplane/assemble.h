// SPDX-License-Identifier: Apache-2.0
// From the planes of one process to one RankTrace a device.
#pragma once

#include <string>
#include <vector>

#include "weft/base/diagnostics.h"
#include "weft/trace/events.h"
#include "weft/trace/formats/xplane/raw_space.h"

namespace weft::trace::xplane {

/// JAX drives many devices from one process, and each of them is a rank of the job: its streams
/// (GPU), its op lines (TPU) or the ops that name its ordinal (CPU) are the rank's device lanes. A
/// host thread that launched work on one device only goes to that rank; of a thread that launched
/// on several, each call goes to the device it launched on; all else goes to the first device of
/// the process. Steps are those of the process, on every rank. Without any device the host is one
/// rank. Empty if there are no events.
std::vector<RankTrace> assemble(const RawSpace& space, const std::string& file,
                                Diagnostics& diagnostics);

}  // namespace weft::trace::xplane
