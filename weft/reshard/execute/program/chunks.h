// SPDX-License-Identifier: Apache-2.0
// Cuts messages into chunks that are short enough to stay in the cache between packing and
// unpacking.
#pragma once

#include <vector>

#include "weft/reshard/execute/program/program.h"

namespace weft::reshard::execute {

/// A piece of a message.
struct Chunk {
  Device peer = 0;
  bool add = false;
  Bytes bytes = 0;
  std::vector<Region> regions;
};

/// The chunks of a turn's messages in one direction, one after the other. Sender and receiver see
/// regions of the same sizes, and therefore the same chunks.
class Chunks {
 public:
  /// `longest` is the most bytes of a packed chunk. If a region has at least `least_direct` bytes
  /// and is contiguous on both devices, it becomes a chunk by itself. Such a chunk needs no packing
  /// and may be longer than `longest`. If `least_direct` is 0, no region becomes such a chunk.
  /// Keeps a reference to `messages`.
  Chunks(const std::vector<Message>& messages, Bytes longest, Bytes least_direct)
      : messages_(messages), longest_(longest), least_direct_(least_direct) {}

  bool empty() const { return message_ == messages_.size(); }
  Chunk next();

 private:
  bool goes_direct(const Message& message) const;
  /// Adds as much of the region to the chunk as fits. Returns false if nothing fits.
  bool take(const Message& message, Bytes longest, Chunk& chunk);

  const std::vector<Message>& messages_;
  Bytes longest_, least_direct_;
  std::size_t message_ = 0, region_ = 0;
  std::int64_t element_ = 0;
};

}  // namespace weft::reshard::execute
