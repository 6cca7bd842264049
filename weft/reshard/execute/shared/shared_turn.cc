// SPDX-License-Identifier: Apache-2.0
// Prepares a turn, in four steps:
//   1. Find receivers that get equal messages.
//   2. Cut messages into chunks.
//   3. Put the chunks into the order in which they are packed.
//   4. Find the copies for each chunk.
// The result does not depend on addresses, so each program is prepared only once.
#include "weft/reshard/execute/shared/shared_turn.h"

#include <algorithm>
#include <set>

#include "weft/base/check.h"
#include "weft/reshard/execute/program/chunks.h"
#include "weft/reshard/execute/program/region.h"

namespace weft::reshard::execute {
namespace {

/// About the size of the last-level cache of a processor. Larger targets are written past this
/// cache.
constexpr Bytes kLastCache = 32 << 20;

enum class Direction { kPack, kUnpack };

/// The copies that pack or unpack a chunk. `all`: the bytes that all devices unpack in the turn,
/// see StridedCopy. If a chunk adds, fill_neutral() has already checked that its elements can be
/// reduced.
std::vector<ChunkCopy> copies_of(const Program& program, const Chunk& chunk, Direction direction,
                                 Bytes all) {
  std::vector<ChunkCopy> copies;
  Bytes at = 0;
  for (const Region& region : chunk.regions) {
    const Region dense = packed(region, 0, at);
    if (direction == Direction::kPack) {
      const RowWork work = work_between(program, region, dense, false);
      copies.push_back(
          {copy_between(region, dense), region.buffer, region.offset * work.width_ratio, at, work});
    } else {
      copies.push_back({copy_between(dense, region, all), region.buffer, region.offset, at,
                        work_between(program, dense, region, chunk.add)});
    }
    at += region.bytes();
  }
  return copies;
}

/// A list of messages, and the receivers to which all of these messages go.
struct Stream {
  std::vector<Device> readers;
  std::vector<Message> messages;
};

bool same(const std::vector<Message>& a, const std::vector<Message>& b) {
  const auto same_region = [](const Region& x, const Region& y) {
    return x.buffer == y.buffer && x.offset == y.offset && x.element == y.element &&
           x.loops == y.loops;
  };
  return std::equal(
      a.begin(), a.end(), b.begin(), b.end(), [&](const Message& x, const Message& y) {
        return x.bytes == y.bytes && std::equal(x.regions.begin(), x.regions.end(),
                                                y.regions.begin(), y.regions.end(), same_region);
      });
}

/// The streams of messages that add (if `add`) or of messages that replace, in the order of
/// messages. If `share`, receivers of equal messages share a stream.
std::vector<Stream> streams_of(const Turn& turn, bool add, bool share) {
  std::vector<Stream> streams;
  for (const Message& message : turn.sends) {
    if (message.add != add) continue;
    const auto known = std::find_if(streams.begin(), streams.end(), [&](const Stream& stream) {
      return stream.readers[0] == message.peer;
    });
    if (known == streams.end()) {
      streams.push_back({{message.peer}, {message}});
    } else {
      known->messages.push_back(message);
    }
  }
  if (!share) return streams;
  std::vector<Stream> shared;
  for (Stream& stream : streams) {
    const auto alike = std::find_if(shared.begin(), shared.end(), [&](const Stream& other) {
      return same(stream.messages, other.messages);
    });
    if (alike == shared.end()) {
      shared.push_back(std::move(stream));
    } else {
      alike->readers.push_back(stream.readers[0]);
    }
  }
  return shared;
}

/// Whether all chunks that add fit into the area at the same time, so that receivers can take them
/// in any order.
bool all_fit(const Turn& turn, Bytes room) {
  Bytes bytes = 0;
  std::set<Device> receivers;
  for (const Message& message : turn.sends) {
    bytes += message.bytes;
    if (message.add && !receivers.insert(message.peer).second) return false;
  }
  return bytes <= room;
}

LocalCopy local_copy(const Program& program, const Region& from, const Region& to, bool add) {
  const RowWork work = work_between(program, from, to, add);
  return {copy_between(from, to),         from.buffer, to.buffer,
          from.offset * work.width_ratio, to.offset,   work};
}

/// The list of `turn` to which the chunks of a message belong.
std::vector<IncomingChunk>& list_for(const Message& message, SharedTurn& turn) {
  if (message.add) return turn.adds;
  const auto known = std::find_if(turn.replaces.begin(), turn.replaces.end(),
                                  [&](const auto& list) { return list[0].peer == message.peer; });
  return known == turn.replaces.end() ? turn.replaces.emplace_back() : *known;
}

/// Finds moves to a place to which a message then adds. Such a move runs chunk by chunk: each part
/// of the move runs just before a chunk of the message is added to this part.
class FusedMoves {
 public:
  FusedMoves(const Program& program, const Turn& turn, Bytes longest)
      : program_(program), turn_(turn), longest_(longest) {}

  /// For each chunk of a message that adds: the copies to run before this chunk. Call this for
  /// messages in their order.
  std::vector<std::vector<LocalCopy>> for_chunks_of(const Message& message) {
    std::vector<const Move*> moves;
    for (const Region& region : message.regions) {
      const auto fits = [&](const Move& move) { return can_fuse(move, region); };
      const auto found = std::find_if(turn_.moves.begin(), turn_.moves.end(), fits);
      if (found != turn_.moves.end()) moves.push_back(&*found);
    }
    for (const Region& region : message.regions) added_to_.push_back(range_of(region));
    if (moves.size() != message.regions.size()) return {};
    auto chunks = copies_between(moves, message);
    if (!chunks.empty()) taken_.insert(moves.begin(), moves.end());
    return chunks;
  }

  bool taken(const Move& move) const { return taken_.count(&move) > 0; }

 private:
  struct Range {
    std::int32_t buffer;
    Bytes low, high;
  };
  static Range range_of(const Region& region) {
    Bytes last = region.offset + region.element;
    for (const Loop& loop : region.loops) last += (loop.extent - 1) * loop.stride;
    return {region.buffer, region.offset, last};
  }

  bool can_fuse(const Move& move, const Region& region) const {
    const Range range = range_of(region);
    // Only the first message that adds to a place may run the move: a later copy would overwrite
    // what was added before.
    const bool first = std::none_of(added_to_.begin(), added_to_.end(), [&](const Range& other) {
      return other.buffer == range.buffer && other.low < range.high && range.low < other.high;
    });
    return first && !move.add && move.from.buffer != move.to.buffer &&
           move.to.buffer == region.buffer && move.to.offset == region.offset &&
           joined(move.to).loops == joined(region).loops;
  }

  std::vector<std::vector<LocalCopy>> copies_between(const std::vector<const Move*>& moves,
                                                     const Message& message) const {
    std::vector<Message> own{{message.peer, true, message.bytes, {}}}, theirs{message};
    for (const Move* move : moves) own[0].regions.push_back(move->from);
    std::vector<std::vector<LocalCopy>> all;
    for (Chunks from(own, longest_, 0), to(theirs, longest_, 0); !to.empty();) {
      const Chunk a = from.next(), b = to.next();
      if (a.regions.size() != b.regions.size()) return {};
      std::vector<LocalCopy>& copies = all.emplace_back();
      for (std::size_t i = 0; i < a.regions.size(); ++i) {
        const Region &x = a.regions[i], &y = b.regions[i];
        if (x.bytes() != y.bytes() || !divide_alike(x, y)) return {};
        copies.push_back(local_copy(program_, x, y, false));
      }
    }
    return all;
  }

  const Program& program_;
  const Turn& turn_;
  Bytes longest_;
  std::vector<Range> added_to_;
  std::set<const Move*> taken_;
};

}  // namespace

SharedTurn prepare_shared(const Program& program, const Turn& turn, Device devices, Bytes longest,
                          Bytes room) {
  SharedTurn prepared;
  const auto send = [&](Chunks& chunks, const Stream& stream) {
    const Chunk chunk = chunks.next();
    prepared.sends.push_back(
        {chunk.bytes, copies_of(program, chunk, Direction::kPack, 0), stream.readers, chunk.add});
  };
  const std::vector<Stream> replacing = streams_of(turn, false, true);
  std::vector<Chunks> chunks;
  for (const Stream& stream : replacing) chunks.emplace_back(stream.messages, longest, 0);
  for (bool more = true; more;) {
    more = false;
    for (std::size_t i = 0; i < replacing.size(); ++i) {
      if (chunks[i].empty()) continue;
      send(chunks[i], replacing[i]);
      more = true;
    }
  }
  for (const Stream& stream : streams_of(turn, true, all_fit(turn, room))) {
    for (Chunks each(stream.messages, longest, 0); !each.empty();) send(each, stream);
  }
  Bytes all = 0;
  for (const Message& message : turn.receives) all += message.bytes * devices;
  // All devices share the last-level cache, so the bytes of all devices together are compared with
  // the size of this cache.
  if (all < kLastCache) all = 0;
  FusedMoves fused(program, turn, longest);
  for (const Message& message : turn.receives) {
    std::vector<std::vector<LocalCopy>> first_copies;
    if (message.add && program.in_place.empty()) first_copies = fused.for_chunks_of(message);
    const std::vector<Message> alone{message};
    std::size_t number = 0;
    for (Chunks incoming(alone, longest, 0); !incoming.empty(); ++number) {
      const Chunk chunk = incoming.next();
      IncomingChunk item{
          chunk.peer, chunk.bytes, {}, copies_of(program, chunk, Direction::kUnpack, all)};
      if (number < first_copies.size()) item.first_copies = std::move(first_copies[number]);
      list_for(message, prepared).push_back(std::move(item));
    }
  }
  for (const Move& move : turn.moves) {
    if (fused.taken(move)) continue;
    if (divide_alike(move.from, move.to)) {
      prepared.moves.push_back(local_copy(program, move.from, move.to, move.add));
    } else {
      prepared.other_moves.push_back(move);
    }
  }
  return prepared;
}

void move(const std::vector<LocalCopy>& copies, const Buffers& buffers) {
  for (const LocalCopy& item : copies) {
    run(item.copy, buffers[item.from_buffer] + item.from, buffers[item.to_buffer] + item.to,
        item.work);
  }
}

void pack(const std::vector<ChunkCopy>& copies, const Buffers& buffers, std::byte* chunk) {
  for (const ChunkCopy& item : copies) {
    run(item.copy, buffers[item.buffer] + item.offset, chunk + item.at, item.work);
  }
}

void unpack(const std::vector<ChunkCopy>& copies, const std::byte* chunk, const Buffers& buffers) {
  for (const ChunkCopy& item : copies) {
    run(item.copy, chunk + item.at, buffers[item.buffer] + item.offset, item.work);
  }
}

}  // namespace weft::reshard::execute
