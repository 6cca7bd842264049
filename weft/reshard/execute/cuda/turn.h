// SPDX-License-Identifier: Apache-2.0
// Turns a turn of a program into work for a GPU: copies before its messages, the place of each
// message in memory, and copies after the messages.
#pragma once

#include <vector>

#include "weft/reshard/execute/cuda/copies.h"
#include "weft/reshard/execute/program/program.h"

namespace weft::reshard::execute::cuda {

/// The contiguous bytes of one message.
struct MessageSpan {
  Device peer = 0;
  std::int32_t buffer = 0;  ///< the buffer's number; program.buffers.size(): staging of messages
  Bytes offset = 0;
  Bytes bytes = 0;
};

/// Messages that are in flight together.
struct Batch {
  std::vector<Copy> before, after;
  /// The messages to one peer, or from one peer, have the same order on both devices.
  std::vector<MessageSpan> sends, receives;
  Bytes staging = 0;  ///< bytes for messages that are not contiguous, or that add
};

/// Divides the messages of a turn into batches. Without a budget there is one batch. With a budget,
/// each batch has at most one message per direction, and the batches of all devices match. Messages
/// that add come last. Contiguous messages are sent and received in their buffers. Buffer number
/// program.buffers.size() is the staging of messages. GPUs must support the reductions, see
/// check_reductions().
std::vector<Batch> batches_of(const Program& program, const Turn& turn, Device devices);

/// The copy between two regions of the same size.
Copy copy_of(const Region& from, const Region& to);

/// Whether the regions follow each other without gaps, so that the message needs no staging.
bool is_contiguous(const Message& message);

/// An Error (kUsage) if an array that is reduced has a type or a reduction that GPUs cannot handle.
Status check_reductions(const Program& program);

/// Copies to run before the first round. They fill the regions of Program::neutral with the neutral
/// element of the array's reduction: the element that changes nothing when it is reduced into
/// another one, such as 0 for sums. An Error (kUsage) if the reduction is not supported.
Result<std::vector<Copy>> neutral_copies(const Program& program);

/// Copies to run after the last round. They multiply the targets of arrays by Elements::times /
/// Elements::over. For averages, which are reduced as sums, this is the division by the number of
/// addends.
std::vector<Copy> scale_copies(const Program& program);

}  // namespace weft::reshard::execute::cuda
