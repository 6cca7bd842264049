// SPDX-License-Identifier: Apache-2.0
// A turn prepared for chunks that are packed and unpacked by two processes: found out once, run
// many times.
#pragma once

#include <vector>

#include "weft/reshard/execute/host/task.h"

namespace weft::reshard::execute {

/// A region of a buffer, and the bytes of a chunk that it is packed into or unpacked from.
struct ChunkCopy {
  StridedCopy copy;
  std::int32_t buffer = 0;
  Bytes offset = 0;  ///< of the buffer
  Bytes at = 0;      ///< of the chunk
  RowWork work;
};

struct OutgoingChunk {
  Bytes bytes = 0;
  std::vector<ChunkCopy> copies;
  std::vector<Device> readers;  ///< all get the same
  /// Receivers add it up, in an order of theirs: all of them may have to lie there at once.
  bool add = false;
};

/// What stays on the device.
struct LocalCopy {
  StridedCopy copy;
  std::int32_t from_buffer = 0, to_buffer = 0;
  Bytes from = 0, to = 0;
  RowWork work;
};

struct IncomingChunk {
  Device peer = 0;
  Bytes bytes = 0;
  /// What stays on the device and the chunk is added to, where it is the first: so it is added to
  /// while it is in the cache.
  std::vector<LocalCopy> base;
  std::vector<ChunkCopy> copies;
};

struct SharedTurn {
  std::vector<LocalCopy> moves;
  std::vector<Move> other_moves;  ///< whose loops do not fit each other
  /// In the order in which to pack them. What replaces comes first, in turns for all that receive:
  /// parts for several receivers interleave in the array, and then are read once.
  std::vector<OutgoingChunk> sends;
  /// What replaces, by sender, each in order: which sender comes first does not matter.
  std::vector<std::vector<IncomingChunk>> replaces;
  /// What adds, in the order of the sum, after all that replaces.
  std::vector<IncomingChunk> adds;
};

/// `devices`: that share a host, and its caches. `longest`: of a chunk. `room`: bytes that all
/// chunks of a turn may have for those that add to be shared by receivers: where they do not all
/// fit, each receiver's come in the order of messages, so that nobody waits in a circle.
SharedTurn prepare_shared(const Program& program, const Turn& turn, Device devices, Bytes longest,
                          Bytes room);

void move(const std::vector<LocalCopy>& copies, const Buffers& buffers);
/// From buffers into a chunk, and back.
void pack(const std::vector<ChunkCopy>& copies, const Buffers& buffers, std::byte* chunk);
void unpack(const std::vector<ChunkCopy>& copies, const std::byte* chunk, const Buffers& buffers);

}  // namespace weft::reshard::execute
