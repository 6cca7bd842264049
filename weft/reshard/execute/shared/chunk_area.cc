// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/execute/shared/chunk_area.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace weft::reshard::execute {
namespace {

/// Letters that may wait for one receiver. What is packed further ahead than a cache of a core
/// holds has left it when it is read: two copies then take the time of two, not of little more
/// than one.
std::uint64_t most_ahead(const OutgoingChunk& chunk) {
  constexpr Bytes kAhead = 1 << 20;
  if (chunk.add) return NeighbourLane::kLetters;
  const Bytes most = std::max<Bytes>(kAhead / std::max<Bytes>(chunk.bytes, 1), 1);
  return std::min(NeighbourLane::kLetters, static_cast<std::uint64_t>(most));
}

}  // namespace

ChunkArea::ChunkArea(const Neighbours& neighbours, Device self, Bytes chunk)
    : neighbours_(neighbours), self_(self), lanes_(static_cast<std::size_t>(neighbours.devices())) {
  constexpr Bytes kLine = 64, kPage = 4096;
  Bytes step = (chunk + kLine - 1) / kLine * kLine;
  // Chunks a power of two apart would compete for the same few lines of a cache.
  if (step >= kPage) step += kPage + kLine;
  for (Bytes at = neighbours.area_bytes() / step * step; at > 0; at -= step) {
    free_.push_back(at - step);
  }
}

bool ChunkArea::send(const OutgoingChunk& chunk, const Buffers& buffers, std::uint64_t fingerprint,
                     Bytes limit, Rings& rings) {
  // What lies in letters is not counted, so a budget does without.
  const bool inside = chunk.bytes <= Letter::kMostInside && limit == kNoLimit;
  if (!lanes_free(chunk) || (!inside && !fits(chunk, limit))) return false;
  if (inside) {
    send_inside(chunk, buffers, fingerprint, rings);
    return true;
  }
  Held held{free_.back(), chunk.bytes, {}, {}};
  free_.pop_back();
  held_bytes_ += chunk.bytes;
  pack(chunk.copies, buffers, neighbours_.area(self_) + held.offset);
  for (const Device reader : chunk.readers) {
    Letter& letter = next_letter(reader);
    letter.fingerprint = fingerprint;
    letter.offset = held.offset;
    letter.bytes = chunk.bytes;
    if (reader == chunk.readers[0]) {
      held.reader = post(reader, letter, rings);
    } else {
      held.others.push_back(post(reader, letter, rings));
    }
  }
  held_.push_back(std::move(held));
  rings.note(chunk.bytes);
  return true;
}

void ChunkArea::send_inside(const OutgoingChunk& chunk, const Buffers& buffers,
                            std::uint64_t fingerprint, Rings& rings) {
  std::array<std::byte, Letter::kMostInside> bytes;
  pack(chunk.copies, buffers, bytes.data());
  for (const Device reader : chunk.readers) {
    Letter& letter = next_letter(reader);
    letter.fingerprint = fingerprint;
    letter.offset = Letter::kInside;
    letter.bytes = chunk.bytes;
    std::memcpy(letter.inside, bytes.data(), static_cast<std::size_t>(chunk.bytes));
    post(reader, letter, rings);
  }
}

bool ChunkArea::lanes_free(const OutgoingChunk& chunk) {
  const std::uint64_t most = most_ahead(chunk);
  return std::all_of(chunk.readers.begin(), chunk.readers.end(), [&](Device reader) {
    Lane& lane = lanes_[reader];
    if (lane.sent - lane.taken < most) return true;
    lane.taken = neighbours_.lane(self_, reader).taken.load(std::memory_order_acquire);
    return lane.sent - lane.taken < most;
  });
}

bool ChunkArea::fits(const OutgoingChunk& chunk, Bytes limit) {
  // To ask about all of them costs more than small chunks are worth.
  constexpr Bytes kLarge = 16 << 10;
  const auto full = [&] { return free_.empty() || held_bytes_ > limit - chunk.bytes; };
  forget_oldest();
  if (chunk.bytes >= kLarge || full()) forget_taken();
  return held_.empty() || !full();
}

Letter& ChunkArea::next_letter(Device reader) const {
  return neighbours_.lane(self_, reader).letter(lanes_[reader].sent + 1);
}

ChunkArea::Reader ChunkArea::post(Device reader, Letter& letter, Rings& rings) {
  const std::uint64_t number = ++lanes_[reader].sent;
  letter.number.store(number, std::memory_order_release);
  rings.add(reader, Neighbours::Until::kLetters);
  return {reader, number};
}

bool ChunkArea::taken(const Reader& reader) const {
  return neighbours_.lane(self_, reader.device).taken.load(std::memory_order_acquire) >=
         reader.letter;
}

bool ChunkArea::taken_by_all(const Held& held) const {
  return taken(held.reader) && std::all_of(held.others.begin(), held.others.end(),
                                           [&](const Reader& reader) { return taken(reader); });
}

void ChunkArea::forget_oldest() {
  for (; !held_.empty() && taken_by_all(held_.front()); held_.pop_front()) {
    held_bytes_ -= held_.front().bytes;
    free_.push_back(held_.front().offset);
  }
}

void ChunkArea::forget_taken() {
  std::erase_if(held_, [&](const Held& held) {
    if (!taken_by_all(held)) return false;
    held_bytes_ -= held.bytes;
    free_.push_back(held.offset);
    return true;
  });
}

std::optional<Device> ChunkArea::awaited() const {
  for (const Held& held : held_) {
    if (!taken(held.reader)) return held.reader.device;
    for (const Reader& reader : held.others) {
      if (!taken(reader)) return reader.device;
    }
  }
  return {};
}

}  // namespace weft::reshard::execute
