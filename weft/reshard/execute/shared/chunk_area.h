// SPDX-License-Identifier: Apache-2.0
// Manages a device's area in the shared memory. The device packs the chunks that it sends into this
// area. The space that became free last is used first, because it is still in the cache.
#pragma once

#include <deque>
#include <limits>
#include <optional>
#include <vector>

#include "weft/reshard/execute/shared/shared_turn.h"
#include "weft/reshard/execute/shared/wakeups.h"

namespace weft::reshard::execute {

class ChunkArea {
 public:
  /// `chunk`: bytes of the longest chunk. Keeps a reference to `segment`.
  ChunkArea(const SharedSegment& segment, Device self, Bytes chunk);

  /// Packs the chunk from `buffers` and adds an entry to the queue of each receiver. `wakeups`
  /// later wakes receivers that sleep. Returns false if there is no room until receivers have taken
  /// some chunks. `limit` is the most bytes that may lie in the area at once; a single chunk may
  /// exceed it.
  bool send(const OutgoingChunk& chunk, const Buffers& buffers, std::uint64_t fingerprint,
            Bytes limit, Wakeups& wakeups);
  static constexpr Bytes kNoLimit = std::numeric_limits<Bytes>::max();

  /// The number of bytes in the area that some receiver has not taken yet, as far as this device
  /// knows.
  Bytes held() const { return held_bytes_; }
  /// A device that has not yet taken some chunk; nullopt if all chunks are taken.
  std::optional<Device> awaited() const;

 private:
  struct Reader {
    Device device = 0;
    std::uint64_t entry = 0;  ///< number of the queue entry that announces the chunk to the
                              ///< receiver
  };
  struct Held {
    Bytes offset = 0, bytes = 0;
    Reader reader;
    std::vector<Reader> others;  ///< further receivers of the same chunk
  };
  bool fits(const OutgoingChunk& chunk, Bytes limit);
  bool queues_free(const OutgoingChunk& chunk);
  void send_inline(const OutgoingChunk& chunk, const Buffers& buffers, std::uint64_t fingerprint,
                   Wakeups& wakeups);
  /// The entry to fill in next. post() then publishes it.
  QueueEntry& next_entry(Device reader) const;
  Reader post(Device reader, QueueEntry& entry, Wakeups& wakeups);
  void free_taken();
  void free_oldest();
  bool taken(const Reader& reader) const;
  bool taken_by_all(const Held& held) const;

  const SharedSegment& segment_;
  Device self_;
  std::vector<Bytes> free_;  ///< offsets of free places
  Bytes held_bytes_ = 0;
  std::deque<Held> held_;  ///< oldest first
  struct QueueState {
    std::uint64_t sent = 0;   ///< entries that were sent
    std::uint64_t taken = 0;  ///< entries that the receiver had taken at the last look
  };
  std::vector<QueueState> queues_;  ///< indexed by receiver
};

}  // namespace weft::reshard::execute
