// SPDX-License-Identifier: Apache-2.0
// Prepares a turn for processes that pack and unpack chunks. A turn is prepared once and run many
// times.
#pragma once

#include <vector>

#include "weft/reshard/execute/host/task.h"

namespace weft::reshard::execute {

/// Copies between a region of a buffer and a part of a chunk.
struct ChunkCopy {
  StridedCopy copy;
  std::int32_t buffer = 0;
  Bytes offset = 0;  ///< where the region begins in the buffer
  Bytes at = 0;      ///< where the part begins in the chunk
  RowWork work;
};

struct OutgoingChunk {
  Bytes bytes = 0;
  std::vector<ChunkCopy> copies;
  std::vector<Device> readers;  ///< the receivers, which all get the same bytes
  /// Receivers add the chunk to their data. Each receiver has its own order of senders. So the
  /// chunks of all senders may have to lie in their areas at once.
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
  /// If this is the first chunk that is added to a place: local copies that fill this place first.
  /// They run just before the chunk is unpacked, so that the place is in the cache.
  std::vector<LocalCopy> first_copies;
  std::vector<ChunkCopy> copies;
};

struct SharedTurn {
  std::vector<LocalCopy> moves;
  std::vector<Move> other_moves;  ///< moves whose loops do not match
  /// In the order in which to pack them. Chunks that replace come first, for all receivers in turn.
  /// Parts for several receivers interleave in the array, so the array is then read only once.
  std::vector<OutgoingChunk> sends;
  /// Chunks that replace: one list per sender, each in order. Senders may come in any order.
  std::vector<std::vector<IncomingChunk>> replaces;
  /// Chunks that add, in the order in which to add them. They come after all chunks that replace.
  std::vector<IncomingChunk> adds;
};

/// `devices` is the number of devices that share the host and its caches. `longest` is the length
/// of the longest chunk in bytes. `room` is a number of bytes. If all chunks of the turn fit into
/// `room`, chunks that add are packed once for all their receivers. If not, they are packed for
/// each receiver in the order of messages, so that no circle of devices can wait for each other.
SharedTurn prepare_shared(const Program& program, const Turn& turn, Device devices, Bytes longest,
                          Bytes room);

void move(const std::vector<LocalCopy>& copies, const Buffers& buffers);
/// pack() copies from buffers into a chunk. unpack() copies from a chunk into buffers, or adds the
/// chunk there.
void pack(const std::vector<ChunkCopy>& copies, const Buffers& buffers, std::byte* chunk);
void unpack(const std::vector<ChunkCopy>& copies, const std::byte* chunk, const Buffers& buffers);

}  // namespace weft::reshard::execute
