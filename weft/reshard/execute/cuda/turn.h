// SPDX-License-Identifier: Apache-2.0
// A turn of a program as work for a GPU: what is copied before its messages, where each message
// lies in memory, and what is copied and added after them.
#pragma once

#include <vector>

#include "weft/reshard/execute/cuda/copies.h"
#include "weft/reshard/execute/program/program.h"

namespace weft::reshard::execute::cuda {

/// The bytes of one message, side by side.
struct Wired {
  Device peer = 0;
  std::int32_t buffer = 0;  ///< of the program, or behind them the staging of messages
  Bytes offset = 0;
  Bytes bytes = 0;
};

/// Messages that are under way together.
struct Batch {
  std::vector<Copy> before, after;
  /// What goes to one peer, or comes from it, is in the same order on both ends.
  std::vector<Wired> sends, receives;
  Bytes staging = 0;  ///< of messages that do not lie side by side, or are added
};

/// All of the turn in one batch; or, where the program has a budget, a message a direction in each,
/// the same ones on both ends. Messages that add come last. What lies side by side is sent and
/// received where it is. Buffer program.buffers.size() is the staging of messages.
/// The reductions must be ones that GPUs know, see check_reductions().
std::vector<Batch> batches_of(const Program& program, const Turn& turn, Device devices);

/// Between two regions of the same size.
Copy copy_of(const Region& from, const Region& to);

/// Whether the regions follow each other without gaps: such a message needs no staging.
bool side_by_side(const Message& message);

/// An Error (kUsage) where an array that is added up has a type or a reduction that GPUs cannot.
Status check_reductions(const Program& program);

/// The neutral element in all regions that need it, and averages divided.
Result<std::vector<Copy>> neutral_copies(const Program& program);
std::vector<Copy> scale_copies(const Program& program);

}  // namespace weft::reshard::execute::cuda
