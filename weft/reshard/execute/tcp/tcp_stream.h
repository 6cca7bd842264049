// SPDX-License-Identifier: Apache-2.0
// Turns the data that one process sends to another in a round, or receives from it, into a stream
// of bytes. A long contiguous region is sent from its buffer and received into its buffer. Other
// regions pass through a small block of staging. A stream has no message boundaries, so sender and
// receiver may divide it differently.
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

  /// Adds a message to send. `block` is memory of `block_bytes` bytes, with room for at least one
  /// element. It is reused for each piece of the stream.
  void send(const Program& program, const Message& message, const Buffers& buffers,
            std::byte* block, Bytes block_bytes);
  /// Adds a message to receive. `number` is its number among the messages of the round.
  void receive(const Program& program, const Message& message, std::int64_t number,
               const Buffers& buffers, std::byte* block, Bytes block_bytes);

  bool done() const { return next_ == pieces_.size(); }
  /// The order of the next piece. Over all streams, pieces with the lowest order must be received
  /// first. Pieces that replace have the lowest order. The order of a piece that adds is the number
  /// of its message, because sums of rounded numbers depend on their order.
  static constexpr std::int64_t kReplaces = -1, kNever = INT64_MAX;
  std::int64_t order() const { return done() ? kNever : pieces_[next_].order; }

  /// The bytes to send next, or the memory for the bytes to receive next. It is empty only if
  /// done().
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
  Bytes done_ = 0;       ///< bytes of the next piece that are already sent or received
  bool packed_ = false;  ///< the next piece is packed
};

/// Whether some region of a message has to pass through a block.
bool needs_block(const Message& message);

}  // namespace weft::reshard::execute
