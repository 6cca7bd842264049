// SPDX-License-Identifier: Apache-2.0
// Tiles whose messages consist of whole blocks of 16 bytes. Each block is fetched directly to its
// position in its row. So rows are contiguous in the tile, and no unit has to be assembled from two
// parts.
#pragma once

#include "weft/reshard/execute/cuda/tile_memory.h"

namespace weft::reshard::execute::cuda {

/// Fetches all parts of the tile. This needs no list of addresses, so these slow transfers can
/// start at once.
WEFT_GPU void fetch_rows(const TiledCopy& copy, std::uint32_t first, std::uint32_t rows,
                         std::uint64_t messages, Worker worker, TileMemory& memory) {
  constexpr std::uint32_t kSize = TileMemory::kBlock;
  const std::uint32_t all = copy.parts * copy.blocks;
  for (std::uint32_t i = worker.number; i < all; i += worker.count) {
    const std::uint32_t part = high_half(i, copy.over_blocks);
    const std::uint32_t byte = (i - part * copy.blocks) * kSize;
    if (byte >= rows * copy.part) continue;
    const std::uint32_t row = high_half(byte, copy.over_part);
    const std::uint32_t column = part * copy.part + byte - row * copy.part;
    fetch_block(memory.bytes + row * copy.pitch + column,
                message_at(copy, messages, part, first) + byte);
  }
}

WEFT_GPU Words<4> block_around(const TileMemory& memory, std::uint32_t place) {
  const std::uint32_t shift = place & (TileMemory::kBlock - 1);
  const auto* blocks = reinterpret_cast<const Words<4>*>(memory.bytes + place - shift);
  return shift == 0 ? blocks[0] : shifted(blocks[0], blocks[1], shift);
}

/// Writes all whole, aligned blocks of the rows.
WEFT_GPU void write_rows(const TiledCopy& copy, std::uint32_t rows, Worker worker,
                         const TileMemory& memory) {
  constexpr std::int32_t kSize = TileMemory::kBlock;
  const auto bytes = static_cast<std::int32_t>(copy.parts * copy.part);
  const std::uint32_t units = copy.units, over_units = copy.over_units, pitch = copy.pitch;
  for (std::uint32_t i = worker.number; i < rows * units; i += worker.count) {
    const std::uint32_t row = high_half(i, over_units);
    const std::uint64_t to = memory.to[row];
    const std::int32_t start = static_cast<std::int32_t>(i - row * units) * kSize -
                               static_cast<std::int32_t>(to & (kSize - 1));
    if (start < 0 || start + kSize > bytes) continue;
    *reinterpret_cast<Words<4>*>(to + start) =
        block_around(memory, row * pitch + static_cast<std::uint32_t>(start));
  }
}

/// Writes the bytes before the first and behind the last whole block of each row. They are written
/// in pairs; if their number is odd, one single byte remains. The cache combines adjacent writes of
/// neighbouring threads only if the writes have the same size.
WEFT_GPU void write_ends_of_rows(const TiledCopy& copy, std::uint32_t rows, Worker worker,
                                 const TileMemory& memory) {
  constexpr std::uint32_t kSize = TileMemory::kBlock, kPairs = kSize / 2;
  const std::uint32_t bytes = copy.parts * copy.part;
  for (std::uint32_t i = worker.number; i < rows * 2 * kPairs; i += worker.count) {
    const std::uint32_t row = i / (2 * kPairs), number = i % kPairs;
    const std::uint64_t to = memory.to[row];
    const std::uint32_t head = static_cast<std::uint32_t>(-to) & (kSize - 1);
    const std::uint32_t tail = (bytes - head) & (kSize - 1);
    const bool at_end = (i & kPairs) != 0;
    const std::uint32_t length = at_end ? tail : head;
    if (number < length / 2) {
      const std::uint32_t column = 2 * number + (at_end ? bytes - tail : head & 1);
      *reinterpret_cast<std::uint16_t*>(to + column) =
          static_cast<std::uint16_t>(word_around(memory, row * copy.pitch + column));
    } else if (number == kPairs - 1 && (length & 1) != 0) {  // this thread never has a pair
      const std::uint32_t column = at_end ? bytes - 1 : 0;
      *reinterpret_cast<unsigned char*>(to + column) = memory.bytes[row * copy.pitch + column];
    }
  }
}

}  // namespace weft::reshard::execute::cuda
