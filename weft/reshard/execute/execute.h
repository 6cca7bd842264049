// SPDX-License-Identifier: Apache-2.0
// Runs a program on one device, over any transport.
#pragma once

#include "weft/reshard/execute/transport.h"

namespace weft::reshard::execute {

/// What a run took, counted by the transport's allocator.
struct Usage {
  Bytes staging_peak = 0;  ///< most that lived at once beside the arrays' own buffers
};

/// An Error (kUsage) unless both ends of every array of the program have memory.
Status check_buffers(const Program& program, const Buffers& buffers);

/// `buffers`: both ends of every array, without staging, which is taken from the transport. Ends
/// may be null where they have no bytes. Checks that all devices run the same program, fills in
/// neutral elements, and goes through the rounds. On an Error what the targets hold is undefined
/// and the sources are as they were; of a program in place, so is the one buffer of both.
Result<Usage> execute(const Program& program, const Buffers& buffers, Transport& transport);

}  // namespace weft::reshard::execute
