// SPDX-License-Identifier: Apache-2.0
// Tiles of messages that consist of whole blocks: each block goes at once where it stands in its
// row, so that rows lie in the tile in one piece and no unit has to be put together of two parts.
#pragma once

#include "weft/reshard/execute/cuda/tile_memory.h"

namespace weft::reshard::execute::cuda {

/// Fetches all parts of the tile, row after row, without a list of where they lie: what takes long
/// is under way from the first moment on.
WEFT_GPU void fetch_rows(const Weave& weave, std::uint32_t first, std::uint32_t rows,
                         std::uint64_t messages, Worker worker, TileMemory& memory) {
  constexpr std::uint32_t kSize = TileMemory::kBlock;
  const std::uint32_t all = weave.parts * weave.blocks;
  for (std::uint32_t i = worker.number; i < all; i += worker.count) {
    const std::uint32_t part = high_half(i, weave.over_blocks);
    const std::uint32_t byte = (i - part * weave.blocks) * kSize;
    if (byte >= rows * weave.part) continue;
    const std::uint32_t row = high_half(byte, weave.over_part);
    const std::uint32_t column = part * weave.part + byte - row * weave.part;
    fetch_block(memory.bytes + row * weave.pitch + column,
                message_at(weave, messages, part, first) + byte);
  }
}

WEFT_GPU Words<4> block_around(const TileMemory& memory, std::uint32_t place) {
  const std::uint32_t shift = place & (TileMemory::kBlock - 1);
  const auto* blocks = reinterpret_cast<const Words<4>*>(memory.bytes + place - shift);
  return shift == 0 ? blocks[0] : shifted(blocks[0], blocks[1], shift);
}

/// Writes all whole blocks of the rows.
WEFT_GPU void write_rows(const Weave& weave, std::uint32_t rows, Worker worker,
                         const TileMemory& memory) {
  constexpr std::int32_t kSize = TileMemory::kBlock;
  const auto bytes = static_cast<std::int32_t>(weave.parts * weave.part);
  const std::uint32_t units = weave.units, over_units = weave.over_units, pitch = weave.pitch;
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

/// Writes what lies before the first whole block of each row and behind the last: pairs of bytes,
/// and the odd one. The cache takes in one go what threads write side by side, in pieces of one
/// size.
WEFT_GPU void write_ends_of_rows(const Weave& weave, std::uint32_t rows, Worker worker,
                                 const TileMemory& memory) {
  constexpr std::uint32_t kSize = TileMemory::kBlock, kPairs = kSize / 2;
  const std::uint32_t bytes = weave.parts * weave.part;
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
          static_cast<std::uint16_t>(word_around(memory, row * weave.pitch + column));
    } else if (number == kPairs - 1 && (length & 1) != 0) {  // which has no pair in any length
      const std::uint32_t column = at_end ? bytes - 1 : 0;
      *reinterpret_cast<unsigned char*>(to + column) = memory.bytes[row * weave.pitch + column];
    }
  }
}

}  // namespace weft::reshard::execute::cuda
