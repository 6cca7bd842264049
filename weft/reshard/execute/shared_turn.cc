// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/execute/shared_turn.h"

#include <algorithm>
#include <set>

#include "weft/base/check.h"
#include "weft/reshard/execute/chunks.h"
#include "weft/reshard/execute/region.h"

namespace weft::reshard::execute {
namespace {

/// About what the last cache of a processor holds. What is more is written past it.
constexpr Bytes kLastCache = 32 << 20;

enum class Way { kPack, kUnpack };

/// fill_neutral() has made sure that it can be added up.
CombineRows adding(const Program& program, const Region& region) {
  const auto rows = combine_rows(program.elements[region.array]);
  WEFT_CHECK(rows.has_value());
  return *rows;
}

/// `all`: what all devices unpack in the turn, see StridedCopy.
std::vector<ChunkCopy> copies_of(const Program& program, const Chunk& chunk, Way way, Bytes all) {
  std::vector<ChunkCopy> copies;
  Bytes at = 0;
  for (const Region& region : chunk.regions) {
    const Region dense = packed(region, 0, at);
    ChunkCopy item{
        way == Way::kPack ? copy_between(region, dense) : copy_between(dense, region, all),
        region.buffer, region.offset, at, nullptr};
    if (way == Way::kUnpack && chunk.add) item.add = adding(program, region);
    copies.push_back(std::move(item));
    at += region.bytes();
  }
  return copies;
}

/// What goes to some receivers, the same to each.
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

/// Streams of messages that replace, or of those that add. In the order of messages.
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

/// Whether what adds can all lie there at once, whoever takes it when.
bool all_fit(const Turn& turn, Bytes room) {
  Bytes bytes = 0;
  std::set<Device> receivers;
  for (const Message& message : turn.sends) {
    bytes += message.bytes;
    if (message.add && !receivers.insert(message.peer).second) return false;
  }
  return bytes <= room;
}

}  // namespace

SharedTurn prepare_shared(const Program& program, const Turn& turn, Device devices, Bytes longest,
                          Bytes room) {
  SharedTurn prepared;
  for (const Move& move : turn.moves) {
    if (!divide_alike(move.from, move.to)) {
      prepared.other_moves.push_back(move);
      continue;
    }
    prepared.moves.push_back({copy_between(move.from, move.to), move.from.buffer, move.to.buffer,
                              move.from.offset, move.to.offset,
                              move.add ? adding(program, move.to) : nullptr});
  }
  const auto send = [&](Chunks& chunks, const Stream& stream) {
    const Chunk chunk = chunks.next();
    prepared.sends.push_back(
        {chunk.bytes, copies_of(program, chunk, Way::kPack, 0), stream.readers});
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
  // The last cache is one for all of them.
  if (all < kLastCache) all = 0;
  for (Chunks incoming(turn.receives, longest, 0); !incoming.empty();) {
    const Chunk chunk = incoming.next();
    IncomingChunk item{chunk.peer, chunk.bytes, copies_of(program, chunk, Way::kUnpack, all)};
    if (chunk.add) {
      prepared.adds.push_back(std::move(item));
      continue;
    }
    const auto known = std::find_if(prepared.replaces.begin(), prepared.replaces.end(),
                                    [&](const auto& list) { return list[0].peer == chunk.peer; });
    if (known == prepared.replaces.end()) {
      prepared.replaces.emplace_back().push_back(std::move(item));
    } else {
      known->push_back(std::move(item));
    }
  }
  return prepared;
}

void move(const Program& program, const SharedTurn& turn, const Buffers& buffers) {
  for (const LocalCopy& item : turn.moves) {
    const std::byte* from = buffers[item.from_buffer] + item.from;
    std::byte* to = buffers[item.to_buffer] + item.to;
    if (item.add == nullptr) {
      item.copy.run(from, to);
    } else {
      combine(item.copy, from, to, item.add);
    }
  }
  for (const Move& item : turn.other_moves) {
    deliver(program, {item.from}, buffers, {item.to}, buffers, item.add);
  }
}

void pack(const std::vector<ChunkCopy>& copies, const Buffers& buffers, std::byte* chunk) {
  for (const ChunkCopy& item : copies) {
    item.copy.run(buffers[item.buffer] + item.offset, chunk + item.at);
  }
}

void unpack(const std::vector<ChunkCopy>& copies, const std::byte* chunk, const Buffers& buffers) {
  for (const ChunkCopy& item : copies) {
    std::byte* to = buffers[item.buffer] + item.offset;
    if (item.add == nullptr) {
      item.copy.run(chunk + item.at, to);
    } else {
      combine(item.copy, chunk + item.at, to, item.add);
    }
  }
}

}  // namespace weft::reshard::execute
