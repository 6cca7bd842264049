// SPDX-License-Identifier: Apache-2.0
// Divides messages into streams of bytes. A stream is a list of pieces. Each piece is contiguous in
// memory: it is a region of a buffer, or a block that is packed right before it is sent and
// unpacked right after it was received. All pieces of a stream share one block, because only one
// piece is in progress at a time.
#include "weft/reshard/execute/tcp/tcp_stream.h"

#include <algorithm>

#include "weft/reshard/execute/program/region.h"

namespace weft::reshard::execute {
namespace {

/// Shorter regions are packed even if they are contiguous, because a system call costs more than
/// the copy.
constexpr Bytes kLeastUnpacked = 1 << 14;

bool goes_direct(const Region& region, bool add) {
  return !add && region.dense() && region.bytes() >= kLeastUnpacked;
}

/// The region's bytes packed in a block, in order.
Region in_block(const Region& region, Bytes offset) {
  return {
      0, region.array, offset, region.element, {{region.bytes() / region.element, region.element}}};
}

/// Calls direct(region) for each region that needs no packing. Calls packed(regions, bytes) for
/// groups of other regions, each with as many regions as fit into a block.
template <class Alone, class Packed>
void divide(const Message& message, Bytes block_bytes, const Alone& direct, const Packed& packed) {
  std::vector<Region> waiting;
  Bytes bytes = 0;
  const auto flush = [&] {
    if (!waiting.empty()) packed(waiting, bytes);
    waiting.clear();
    bytes = 0;
  };
  for (const Region& whole : message.regions) {
    if (goes_direct(whole, message.add)) {
      flush();
      direct(whole);
      continue;
    }
    for (Region& region : cut(whole, block_bytes)) {
      if (bytes + region.bytes() > block_bytes) flush();
      bytes += region.bytes();
      waiting.push_back(std::move(region));
    }
  }
  flush();
}

}  // namespace

bool needs_block(const Message& message) {
  return std::any_of(message.regions.begin(), message.regions.end(),
                     [&](const Region& region) { return !goes_direct(region, message.add); });
}

void TcpStream::send(const Program& program, const Message& message, const Buffers& buffers,
                     std::byte* block, Bytes block_bytes) {
  divide(
      message, block_bytes,
      [&](const Region& region) {
        pieces_.push_back({buffers[region.buffer] + region.offset, region.bytes(), {}, kReplaces});
      },
      [&](const std::vector<Region>& regions, Bytes bytes) {
        Piece piece{block, bytes, {}, kReplaces};
        Bytes at = 0;
        for (const Region& region : regions) {
          piece.tasks.push_back(
              make_task(program, region, buffers, in_block(region, at), {block}, false));
          at += region.bytes();
        }
        pieces_.push_back(std::move(piece));
      });
}

void TcpStream::receive(const Program& program, const Message& message, std::int64_t number,
                        const Buffers& buffers, std::byte* block, Bytes block_bytes) {
  divide(
      message, block_bytes,
      [&](const Region& region) {
        pieces_.push_back({buffers[region.buffer] + region.offset, region.bytes(), {}, kReplaces});
      },
      [&](const std::vector<Region>& regions, Bytes bytes) {
        Piece piece{block, bytes, {}, message.add ? number : kReplaces};
        Bytes at = 0;
        for (const Region& region : regions) {
          piece.tasks.push_back(
              make_task(program, in_block(region, at), {block}, region, buffers, message.add));
          at += region.bytes();
        }
        pieces_.push_back(std::move(piece));
      });
}

TcpStream::Extent TcpStream::to_send() {
  Piece& piece = pieces_[next_];
  // Pack as late as possible, because the piece before must have left the block first.
  if (!packed_) {
    for (const Task& task : piece.tasks) task.run();
    packed_ = true;
  }
  return {piece.memory + done_, static_cast<std::size_t>(piece.bytes - done_)};
}

TcpStream::Extent TcpStream::to_receive() const {
  const Piece& piece = pieces_[next_];
  return {piece.memory + done_, static_cast<std::size_t>(piece.bytes - done_)};
}

void TcpStream::received(std::size_t bytes) {
  const Piece& piece = pieces_[next_];
  if (done_ + static_cast<Bytes>(bytes) == piece.bytes) {
    for (const Task& task : piece.tasks) task.run();
  }
  advance(bytes);
}

void TcpStream::advance(std::size_t bytes) {
  done_ += static_cast<Bytes>(bytes);
  if (done_ == pieces_[next_].bytes) {
    ++next_;
    done_ = 0;
    packed_ = false;
  }
}

}  // namespace weft::reshard::execute
