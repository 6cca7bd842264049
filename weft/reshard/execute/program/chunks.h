// SPDX-License-Identifier: Apache-2.0
// Messages cut into chunks that stay in a cache between being packed and unpacked.
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
/// regions of the same sizes, and so the same chunks.
class Chunks {
 public:
  /// `alone`: a region that lies side by side on both devices and has so many bytes goes alone, and
  /// in longer pieces; 0: none does. Keeps the reference.
  Chunks(const std::vector<Message>& messages, Bytes longest, Bytes alone)
      : messages_(messages), longest_(longest), alone_(alone) {}

  bool empty() const { return message_ == messages_.size(); }
  Chunk next();

 private:
  bool goes_alone(const Message& message) const;
  /// As much of the region as fits; false where nothing does.
  bool take(const Message& message, Bytes longest, Chunk& chunk);

  const std::vector<Message>& messages_;
  Bytes longest_, alone_;
  std::size_t message_ = 0, region_ = 0;
  std::int64_t element_ = 0;
};

}  // namespace weft::reshard::execute
