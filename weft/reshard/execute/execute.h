// SPDX-License-Identifier: Apache-2.0
// Runs a program on one device, over any transport.
#pragma once

#include "weft/reshard/execute/transport.h"

namespace weft::reshard::execute {

/// What a run used, as counted by the transport's allocator.
struct Usage {
  Bytes staging_peak = 0;  ///< most bytes allocated at once, besides the sources and targets
};

/// Returns an Error (kUsage) if the source or target of an array has bytes but no memory.
Status check_buffers(const Program& program, const Buffers& buffers);

/// Runs the program on this device. All devices must run their programs at the same time. `buffers`
/// are the source and target of every array, in order; a buffer without bytes may be null. Staging
/// comes from the transport. The run checks that all devices run the same program, fills in neutral
/// elements, and runs the rounds.
///
/// After an Error the contents of the targets are undefined. The sources are unchanged. If the
/// program runs in place, the contents of the shared buffer are undefined too.
Result<Usage> execute(const Program& program, const Buffers& buffers, Transport& transport);

}  // namespace weft::reshard::execute
