// SPDX-License-Identifier: Apache-2.0
// What one process sends to another in a round, or receives from it, as a stream of bytes. A long
// contiguous region is sent from its buffer and received into its buffer. Other regions pass
// through a small block of staging. A stream has no message boundaries, so the two ends need not
// cut alike.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/reshard/execute/host/task.h"

namespace weft::reshard::execute {

class TcpStream {
 public:
  /// A stream without data.
  TcpStream() = default;
  /// A stream of contiguous bytes.
  TcpStream(std::byte* memory, Bytes bytes) { pieces_.push_back({memory, bytes, {}, kReplaces}); }

  /// Adds a message to send. `block`: memory of `block_bytes` bytes, at least one element. It is
  /// reused for each piece of the stream.
  void send(const Program& program, const Message& message, const Buffers& buffers,
            std::byte* block, Bytes block_bytes);
  /// Adds a message to receive. `number`: of the message among those of the round.
  void receive(const Program& program, const Message& message, std::int64_t number,
               const Buffers& buffers, std::byte* block, Bytes block_bytes);

  bool done() const { return next_ == pieces_.size(); }
  /// The order of the next piece: over all streams, pieces with the lowest order have to be
  /// received first. Pieces that replace come before those that add, and those by the number of
  /// their message, since sums of rounded numbers depend on their order.
  static constexpr std::int64_t kReplaces = -1, kNever = INT64_MAX;
  std::int64_t order() const { return done() ? kNever : pieces_[next_].order; }

  /// The bytes to send next, or where to receive next. Not empty unless done().
  struct Extent {
    std::byte* memory = nullptr;
    std::size_t bytes = 0;
  };
  Extent to_send();
  Extent to_receive() const;
  void sent(std::size_t bytes) { advance(bytes); }
  void received(std::size_t bytes);

 private:
  struct Piece {
    std::byte* memory = nullptr;
    Bytes bytes = 0;
    std::vector<Task> tasks;  ///< pack into the block before sending, or unpack after receiving
    std::int64_t order = kReplaces;
  };

  void advance(std::size_t bytes);

  std::vector<Piece> pieces_;
  std::size_t next_ = 0;
  Bytes done_ = 0;       ///< bytes of the next piece that are done
  bool packed_ = false;  ///< the next piece is packed
};

/// Whether some region of a message has to pass through a block.
bool needs_block(const Message& message);

}  // namespace weft::reshard::execute
