// SPDX-License-Identifier: Apache-2.0
// A device's chunks in the memory that it shares. What was given back last is used first, since it
// is still in the cache.
#pragma once

#include <deque>
#include <limits>
#include <optional>
#include <vector>

#include "weft/reshard/execute/shared/rings.h"
#include "weft/reshard/execute/shared/shared_turn.h"

namespace weft::reshard::execute {

class ChunkArea {
 public:
  /// Keeps the reference. `chunk`: the longest.
  ChunkArea(const Neighbours& neighbours, Device self, Bytes chunk);

  /// Packs the chunk from `buffers` and writes to its receivers, who are told when `rings` rings.
  /// False: others must take some before. `limit`: bytes that may lie there at once, if anything
  /// does.
  bool send(const OutgoingChunk& chunk, const Buffers& buffers, std::uint64_t fingerprint,
            Bytes limit, Rings& rings);
  static constexpr Bytes kNoLimit = std::numeric_limits<Bytes>::max();

  /// Bytes that have not been taken by all their receivers, as far as is known.
  Bytes held() const { return held_bytes_; }
  /// Somebody who has not taken one of them.
  std::optional<Device> awaited() const;

 private:
  struct Reader {
    Device device = 0;
    std::uint64_t letter = 0;
  };
  struct Held {
    Bytes offset = 0, bytes = 0;
    Reader reader;
    std::vector<Reader> others;  ///< that get the same
  };
  bool fits(const OutgoingChunk& chunk, Bytes limit);
  bool lanes_free(const OutgoingChunk& chunk);
  void send_inside(const OutgoingChunk& chunk, const Buffers& buffers, std::uint64_t fingerprint,
                   Rings& rings);
  /// To be written, then posted.
  Letter& next_letter(Device reader) const;
  Reader post(Device reader, Letter& letter, Rings& rings);
  void forget_taken();
  void forget_oldest();
  bool taken(const Reader& reader) const;
  bool taken_by_all(const Held& held) const;

  const Neighbours& neighbours_;
  Device self_;
  std::vector<Bytes> free_;  ///< offsets
  Bytes held_bytes_ = 0;
  std::deque<Held> held_;  ///< oldest first
  struct Lane {
    std::uint64_t sent = 0;   ///< letters
    std::uint64_t taken = 0;  ///< of them, when it was last looked at: the line is the receiver's
  };
  std::vector<Lane> lanes_;  ///< by receiver
};

}  // namespace weft::reshard::execute
