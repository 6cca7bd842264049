// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/execute/shared/chunk_area.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace weft::reshard::execute {
namespace {

/// The most entries that may wait for one receiver. If more chunks are packed ahead than the cache
/// of a core can hold, chunks leave the cache before they are read. Then both packing and unpacking
/// are slow, instead of only packing.
std::uint64_t most_ahead(const OutgoingChunk& chunk) {
  constexpr Bytes kAhead = 1 << 20;
  if (chunk.add) return SharedQueue::kEntries;
  const Bytes most = std::max<Bytes>(kAhead / std::max<Bytes>(chunk.bytes, 1), 1);
  return std::min(SharedQueue::kEntries, static_cast<std::uint64_t>(most));
}

}  // namespace

ChunkArea::ChunkArea(const SharedSegment& segment, Device self, Bytes chunk)
    : segment_(segment), self_(self), queues_(static_cast<std::size_t>(segment.devices())) {
  constexpr Bytes kLine = 64, kPage = 4096;
  Bytes step = (chunk + kLine - 1) / kLine * kLine;
  // Chunks at distances of a power of two would compete for the same few cache lines.
  if (step >= kPage) step += kPage + kLine;
  for (Bytes at = segment.area_bytes() / step * step; at > 0; at -= step) {
    free_.push_back(at - step);
  }
}

bool ChunkArea::send(const OutgoingChunk& chunk, const Buffers& buffers, std::uint64_t fingerprint,
                     Bytes limit, Wakeups& wakeups) {
  // Short chunks are stored in the queue entry itself. Queue entries do not count as staging, so
  // programs with a budget do not use this.
  const bool is_inline = chunk.bytes <= QueueEntry::kMostInline && limit == kNoLimit;
  if (!queues_free(chunk) || (!is_inline && !fits(chunk, limit))) return false;
  if (is_inline) {
    send_inline(chunk, buffers, fingerprint, wakeups);
    return true;
  }
  // Store one copy in the area for all receivers. Its place is free again when all receivers have
  // taken the chunk.
  Held held{free_.back(), chunk.bytes, {}, {}};
  free_.pop_back();
  held_bytes_ += chunk.bytes;
  pack(chunk.copies, buffers, segment_.area(self_) + held.offset);
  for (const Device reader : chunk.readers) {
    QueueEntry& entry = next_entry(reader);
    entry.fingerprint = fingerprint;
    entry.offset = held.offset;
    entry.bytes = chunk.bytes;
    if (reader == chunk.readers[0]) {
      held.reader = post(reader, entry, wakeups);
    } else {
      held.others.push_back(post(reader, entry, wakeups));
    }
  }
  held_.push_back(std::move(held));
  wakeups.note(chunk.bytes);
  return true;
}

void ChunkArea::send_inline(const OutgoingChunk& chunk, const Buffers& buffers,
                            std::uint64_t fingerprint, Wakeups& wakeups) {
  std::array<std::byte, QueueEntry::kMostInline> bytes;
  pack(chunk.copies, buffers, bytes.data());
  for (const Device reader : chunk.readers) {
    QueueEntry& entry = next_entry(reader);
    entry.fingerprint = fingerprint;
    entry.offset = QueueEntry::kInline;
    entry.bytes = chunk.bytes;
    std::memcpy(entry.inline_bytes, bytes.data(), static_cast<std::size_t>(chunk.bytes));
    post(reader, entry, wakeups);
  }
}

bool ChunkArea::queues_free(const OutgoingChunk& chunk) {
  const std::uint64_t most = most_ahead(chunk);
  return std::all_of(chunk.readers.begin(), chunk.readers.end(), [&](Device reader) {
    QueueState& queue = queues_[reader];
    if (queue.sent - queue.taken < most) return true;
    queue.taken = segment_.queue(self_, reader).taken.load(std::memory_order_acquire);
    return queue.sent - queue.taken < most;
  });
}

bool ChunkArea::fits(const OutgoingChunk& chunk, Bytes limit) {
  // Looking at all held chunks takes longer than packing a small chunk. So do this only if it is
  // needed.
  constexpr Bytes kLarge = 16 << 10;
  const auto full = [&] { return free_.empty() || held_bytes_ > limit - chunk.bytes; };
  free_oldest();
  if (chunk.bytes >= kLarge || full()) free_taken();
  return held_.empty() || !full();
}

QueueEntry& ChunkArea::next_entry(Device reader) const {
  return segment_.queue(self_, reader).entry(queues_[reader].sent + 1);
}

ChunkArea::Reader ChunkArea::post(Device reader, QueueEntry& entry, Wakeups& wakeups) {
  const std::uint64_t number = ++queues_[reader].sent;
  entry.number.store(number, std::memory_order_release);
  wakeups.add(reader, SharedSegment::WaitFor::kEntries);
  return {reader, number};
}

bool ChunkArea::taken(const Reader& reader) const {
  return segment_.queue(self_, reader.device).taken.load(std::memory_order_acquire) >= reader.entry;
}

bool ChunkArea::taken_by_all(const Held& held) const {
  return taken(held.reader) && std::all_of(held.others.begin(), held.others.end(),
                                           [&](const Reader& reader) { return taken(reader); });
}

void ChunkArea::free_oldest() {
  for (; !held_.empty() && taken_by_all(held_.front()); held_.pop_front()) {
    held_bytes_ -= held_.front().bytes;
    free_.push_back(held_.front().offset);
  }
}

void ChunkArea::free_taken() {
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
