// SPDX-License-Identifier: Apache-2.0
// A turn prepared for two processes that pack and unpack chunks: worked out once, run many times.
#pragma once

#include <vector>

#include "weft/reshard/execute/host/task.h"

namespace weft::reshard::execute {

/// Copies between a region of a buffer and a part of a chunk.
struct ChunkCopy {
  StridedCopy copy;
  std::int32_t buffer = 0;
  Bytes offset = 0;  ///< in the buffer
  Bytes at = 0;      ///< in the chunk
  RowWork work;
};

struct OutgoingChunk {
  Bytes bytes = 0;
  std::vector<ChunkCopy> copies;
  std::vector<Device> readers;  ///< all receive the same bytes
  /// Receivers add it, in an order of their own: the chunks of all senders may have to lie there at
  /// once.
  bool add = false;
};

/// A copy within the device.
struct LocalCopy {
  StridedCopy copy;
  std::int32_t from_buffer = 0, to_buffer = 0;
  Bytes from = 0, to = 0;
  RowWork work;
};

struct IncomingChunk {
  Device peer = 0;
  Bytes bytes = 0;
  /// Local copies to the place that the chunk is added to, if the chunk is the first one to add
  /// there. Run just before the chunk is unpacked, so that the place is in the cache.
  std::vector<LocalCopy> first_copies;
  std::vector<ChunkCopy> copies;
};

struct SharedTurn {
  std::vector<LocalCopy> moves;
  std::vector<Move> other_moves;  ///< moves whose loops do not match
  /// In the order in which to pack them. Chunks that replace come first, and go to all receivers in
  /// turn: parts for several receivers interleave in the array, which is then read only once.
  std::vector<OutgoingChunk> sends;
  /// Chunks that replace, by sender, each in order. Senders may come in any order.
  std::vector<std::vector<IncomingChunk>> replaces;
  /// Chunks that add, in the order of the sum, after all that replace.
  std::vector<IncomingChunk> adds;
};

/// `devices`: how many share the host and its caches. `longest`: bytes of the longest chunk.
/// `room`: bytes; if all chunks of the turn fit into them, chunks that add are packed once for
/// all their receivers. If not, they are packed for each receiver in the order of messages, so that
/// no circle of devices can wait for each other.
SharedTurn prepare_shared(const Program& program, const Turn& turn, Device devices, Bytes longest,
                          Bytes room);

void move(const std::vector<LocalCopy>& copies, const Buffers& buffers);
/// pack() copies from buffers into a chunk, unpack() from a chunk into buffers.
void pack(const std::vector<ChunkCopy>& copies, const Buffers& buffers, std::byte* chunk);
void unpack(const std::vector<ChunkCopy>& copies, const std::byte* chunk, const Buffers& buffers);

}  // namespace weft::reshard::execute
