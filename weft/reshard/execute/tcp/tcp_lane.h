// SPDX-License-Identifier: Apache-2.0
// What one process sends to another in a round, or receives from it, as a stream of bytes. A long
// region that lies side by side goes from where it lies, or to where it belongs; others pass
// through a small block of staging. Streams need no agreement on how they are cut.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/reshard/execute/host/task.h"

namespace weft::reshard::execute {

class Lane {
 public:
  /// Nothing to do.
  Lane() = default;
  /// Bytes that lie side by side.
  Lane(std::byte* memory, Bytes bytes) { pieces_.push_back({memory, bytes, {}, kReplaces}); }

  /// Adds a message that is sent. `block`: of `block_bytes`, none of which lives longer than until
  /// the next piece; room for one element at least.
  void send(const Program& program, const Message& message, const Buffers& buffers,
            std::byte* block, Bytes block_bytes);
  /// `number`: of the message, among all of the round.
  void receive(const Program& program, const Message& message, std::int64_t number,
               const Buffers& buffers, std::byte* block, Bytes block_bytes);

  bool done() const { return next_ == pieces_.size(); }
  /// When what comes next may be put in place, among all lanes: first what replaces, then what
  /// adds, by number, since sums of rounded numbers depend on their order.
  static constexpr std::int64_t kReplaces = -1, kNever = INT64_MAX;
  std::int64_t order() const { return done() ? kNever : pieces_[next_].order; }

  /// What is to be sent next, or where to put what comes: never empty, unless it is done.
  struct Bit {
    std::byte* memory = nullptr;
    std::size_t bytes = 0;
  };
  Bit to_send();
  Bit to_receive() const;
  void sent(std::size_t bytes) { advance(bytes); }
  void received(std::size_t bytes);

 private:
  struct Piece {
    std::byte* memory = nullptr;
    Bytes bytes = 0;
    std::vector<Task> tasks;  ///< into the block before it is sent, or out of it after it came
    std::int64_t order = kReplaces;
  };

  void advance(std::size_t bytes);

  std::vector<Piece> pieces_;
  std::size_t next_ = 0;
  Bytes done_ = 0;       ///< of the next piece
  bool packed_ = false;  ///< the next piece
};

/// Whether some region of a message must pass through a block.
bool needs_block(const Message& message);

}  // namespace weft::reshard::execute
