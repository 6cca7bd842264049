// SPDX-License-Identifier: Apache-2.0
// Runs a program on one device, over any transport.
#pragma once

#include "weft/reshard/execute/transport.h"

namespace weft::reshard::execute {

/// What a run used, as counted by the transport's allocator.
struct Usage {
  Bytes staging_peak = 0;  ///< most bytes alive at once beside the sources and targets
};

/// An Error (kUsage) unless the source and target of every array have memory.
Status check_buffers(const Program& program, const Buffers& buffers);

/// Runs the program on this device; all devices must run theirs at the same time. `buffers`: source
/// and target of every array, in order; a buffer without bytes may be null. Staging comes from the
/// transport. Checks that all devices run the same program, fills in neutral elements, and runs the
/// rounds. After an Error the contents of the targets are undefined. The sources keep theirs, but
/// in place the shared buffer is undefined too.
Result<Usage> execute(const Program& program, const Buffers& buffers, Transport& transport);

}  // namespace weft::reshard::execute
