// SPDX-License-Identifier: Apache-2.0
// The steps in which the threads of a block copy a tile. All threads wait for each other between
// steps. Tests run the same code on the host, one thread after the other.
#pragma once

#include "weft/reshard/execute/cuda/tile_memory.h"
#include "weft/reshard/execute/cuda/tile_rows.h"

namespace weft::reshard::execute::cuda {

/// The bytes of a segment that is read, and of a segment that is written, if a tile has `rows`
/// rows.
WEFT_GPU std::uint32_t bytes_read(const TiledCopy& copy, std::uint32_t rows) {
  return (copy.packs ? copy.parts : rows) * copy.part;
}
WEFT_GPU std::uint32_t bytes_written(const TiledCopy& copy, std::uint32_t rows) {
  return (copy.packs ? rows : copy.parts) * copy.part;
}

/// Finds the addresses of all segments. `array` and `messages` are the addresses at which the tiled
/// copy begins.
WEFT_GPU void list_segments(const TiledCopy& copy, std::uint32_t first, std::uint32_t rows,
                            std::uint64_t array, std::uint64_t messages, Worker worker,
                            TileMemory& memory) {
  for (std::uint32_t i = worker.number; i < rows + copy.parts; i += worker.count) {
    const bool is_row = i < rows;
    const std::uint32_t number = is_row ? i : i - rows;
    std::uint64_t at;
    if (is_row) {
      at = array;
      std::uint32_t row = first + number;
      for (int l = 0; l < copy.loops; ++l) {
        const TiledCopy::Loop& loop = copy.loop[l];
        const std::uint32_t next = divided(row, loop.extent);
        at += (row - next * loop.extent.divisor) * loop.stride;
        row = next;
      }
    } else {
      at = message_at(copy, messages, number, first);
    }
    if (is_row == (copy.packs != 0)) {
      memory.from[number] = at;
      memory.place[number] =
          (number * copy.blocks) * TileMemory::kBlock + (at & (TileMemory::kBlock - 1));
    } else {
      memory.to[number] = at;
      const std::uint64_t end = at + bytes_written(copy, rows);
      if (at % kSector != 0) fetch_sector(at);
      if (end % kSector != 0) fetch_sector(end);
    }
  }
}

/// Step 1: finds all addresses. If the copy has a pitch, its blocks can be fetched without these
/// addresses. So this step also starts to fetch the blocks.
WEFT_GPU void begin_tile(const TiledCopy& copy, std::uint32_t first, std::uint32_t rows,
                         std::uint64_t array, std::uint64_t messages, Worker worker,
                         TileMemory& memory) {
  if (copy.pitch != 0) fetch_rows(copy, first, rows, messages, worker, memory);
  list_segments(copy, first, rows, array, messages, worker, memory);
}

/// Step 2: fetches all blocks that contain a byte of the tile, unless step 1 did so. The blocks
/// must have arrived before step 3.
WEFT_GPU void fetch_tile(const TiledCopy& copy, std::uint32_t rows, Worker worker,
                         TileMemory& memory) {
  if (copy.pitch != 0) return;
  constexpr std::uint32_t kSize = TileMemory::kBlock;
  const std::uint32_t bytes = bytes_read(copy, rows);
  const std::uint32_t all = (copy.packs ? rows : copy.parts) * copy.blocks;
  for (std::uint32_t i = worker.number; i < all; i += worker.count) {
    const std::uint32_t segment = high_half(i, copy.over_blocks);
    const std::uint32_t block = i - segment * copy.blocks;
    const std::uint64_t from = memory.from[segment];
    if (block * kSize < bytes + (from & (kSize - 1))) {
      fetch_block(memory.bytes + i * kSize, (from & ~std::uint64_t{kSize - 1}) + block * kSize);
    }
  }
}

/// Where the bytes of a unit lie in the tile. A unit is the bytes that one thread writes at a time.
/// The first `left` bytes begin at `first`. Each of the other bytes lies at `second` plus the
/// offset of this byte in the unit.
struct Halves {
  std::uint32_t first, second;
  std::int32_t left;
};

/// Loads four words. Different threads start with different words. If all threads started with word
/// 0, threads whose units are two apart would access the same banks of shared memory at the same
/// time. `word` loads word 0 to 3. `turn` is the word to start with.
template <class Word>
WEFT_GPU Words<4> in_turn(std::uint32_t turn, Word word) {
  std::uint32_t a[4], b[4];
  for (std::uint32_t i = 0; i < 4; ++i) a[i] = word(static_cast<std::int32_t>((i + turn) & 3));
  for (std::uint32_t i = 0; i < 4; ++i) b[i] = (turn & 1) != 0 ? a[(i + 3) & 3] : a[i];
  Words<4> words;
  for (std::uint32_t i = 0; i < 4; ++i) words.word[i] = (turn & 2) != 0 ? b[(i + 2) & 3] : b[i];
  return words;
}

/// The words of a unit if all positions and lengths are multiples of 4 bytes.
WEFT_GPU Words<4> aligned_words(const TileMemory& memory, const Halves& halves,
                                std::uint32_t turn) {
  return in_turn(turn, [&](std::int32_t i) {
    return word_at(memory, (4 * i < halves.left ? halves.first : halves.second) + 4 * i);
  });
}

/// The words of a unit at any alignment. One word may contain bytes of the two halves.
WEFT_GPU Words<4> shifted_words(const TileMemory& memory, const Halves& halves,
                                std::uint32_t turn) {
  const std::int32_t mixed = halves.left < 16 && (halves.left & 3) != 0 ? halves.left & ~3 : 16;
  const std::uint32_t mask = (1u << (8 * (halves.left & 3))) - 1;
  std::uint32_t rest = 0;
  if (mixed < 16) rest = word_around(memory, halves.second + mixed) & ~mask;
  return in_turn(turn, [&](std::int32_t i) {
    const std::uint32_t word =
        word_around(memory, (4 * i < halves.left ? halves.first : halves.second) + 4 * i);
    return 4 * i == mixed ? (word & mask) | rest : word;
  });
}

/// The bytes of a unit if parts do not consist of whole units.
inline constexpr std::uint32_t kShiftedUnit = 16;

/// How units are loaded from the tile. kWhole: a unit is contiguous and aligned to its size.
/// kByWords: its pieces are aligned to 4 bytes. kByBytes: its pieces may begin at any byte.
enum class Fit { kWhole, kByWords, kByBytes };

/// Step 3: writes all aligned units that lie entirely within one segment.
template <int kWords, Fit kFit>
WEFT_GPU void write_units(const TiledCopy& copy, std::uint32_t rows, Worker worker,
                          const TileMemory& memory) {
  constexpr std::int32_t kUnit = 4 * kWords;
  const auto bytes = static_cast<std::int32_t>(bytes_written(copy, rows));
  const std::uint32_t all = (copy.packs ? copy.parts : rows) * copy.units;
  const std::uint32_t units = copy.units, over_units = copy.over_units;
  const std::uint32_t part_bytes = copy.part, over_part = copy.over_part;
  const std::uint32_t turn = worker.number / 8 % 4;
  for (std::uint32_t i = worker.number; i < all; i += worker.count) {
    const std::uint32_t segment = high_half(i, over_units);
    const std::uint64_t to = memory.to[segment];
    const std::int32_t start = static_cast<std::int32_t>(i - segment * units) * kUnit -
                               static_cast<std::int32_t>(to & (kUnit - 1));
    if (start < 0 || start + kUnit > bytes) continue;
    const std::uint32_t part = high_half(static_cast<std::uint32_t>(start), over_part);
    const std::uint32_t column = static_cast<std::uint32_t>(start) - part * part_bytes;
    const std::uint32_t before = segment * part_bytes;
    Halves halves{memory.place[part] + before + column, 0,
                  static_cast<std::int32_t>(part_bytes - column)};
    if constexpr (kFit == Fit::kWhole) {
      *reinterpret_cast<Words<kWords>*>(to + start) =
          *reinterpret_cast<const Words<kWords>*>(memory.bytes + halves.first);
      continue;
    }
    if (halves.left < kUnit) {
      halves.second = memory.place[part + 1] + before - static_cast<std::uint32_t>(halves.left);
    }
    if constexpr (kFit == Fit::kByWords) {
      *reinterpret_cast<Words<4>*>(to + start) = aligned_words(memory, halves, turn);
    } else {
      *reinterpret_cast<Words<4>*>(to + start) = shifted_words(memory, halves, turn);
    }
  }
}

/// The offset in the tile of a byte of a segment that is written.
WEFT_GPU std::uint32_t place_of(const TiledCopy& copy, const TileMemory& memory,
                                std::uint32_t segment, std::uint32_t column) {
  if (copy.pitch != 0) return segment * copy.pitch + column;
  const std::uint32_t part = high_half(column, copy.over_part);
  return memory.place[part] + segment * copy.part + column - part * copy.part;
}

/// A part of step 3, for segments that do not consist of whole units: writes the bytes before the
/// first and behind the last whole unit of each segment. Each thread writes one `Element`.
template <class Element>
WEFT_GPU void write_ends(const TiledCopy& copy, std::uint32_t rows, Worker worker,
                         const TileMemory& memory) {
  constexpr std::uint32_t kUnit = kShiftedUnit, kSize = sizeof(Element), kMost = kUnit / kSize;
  const std::uint32_t bytes = bytes_written(copy, rows);
  const std::uint32_t all = (copy.packs ? copy.parts : rows) * 2 * kMost;
  for (std::uint32_t i = worker.number; i < all; i += worker.count) {
    const std::uint32_t segment = i / (2 * kMost), number = (i % kMost) * kSize;
    const std::uint64_t to = memory.to[segment];
    const std::uint32_t head = static_cast<std::uint32_t>(-to) & (kUnit - 1);
    const std::uint32_t tail = (bytes - head) & (kUnit - 1);
    const bool at_end = (i & kMost) != 0;
    if (number >= (at_end ? tail : head)) continue;
    const std::uint32_t column = at_end ? bytes - tail + number : number;
    *reinterpret_cast<Element*>(to + column) =
        *reinterpret_cast<const Element*>(memory.bytes + place_of(copy, memory, segment, column));
  }
}

/// A part of step 3: writes all ends of segments that are not whole units.
WEFT_GPU void write_all_ends(const TiledCopy& copy, std::uint32_t rows, Worker worker,
                             const TileMemory& memory) {
  const bool by_rows = copy.pitch != 0;
  if (copy.aligned == 8 && by_rows) {
    write_ends<std::uint64_t>(copy, rows, worker, memory);
  } else if (copy.aligned == 4) {
    write_ends<std::uint32_t>(copy, rows, worker, memory);
  } else if (copy.aligned < 4 && by_rows) {
    write_ends_of_rows(copy, rows, worker, memory);
  } else if (copy.aligned < 4) {
    write_ends<unsigned char>(copy, rows, worker, memory);
  }
}

/// Step 3 for any tiled copy.
WEFT_GPU void write_tile(const TiledCopy& copy, std::uint32_t rows, Worker worker,
                         const TileMemory& memory) {
  write_all_ends(copy, rows, worker, memory);
  if (copy.pitch != 0) {
    write_rows(copy, rows, worker, memory);
  } else if (copy.aligned == 16) {
    write_units<4, Fit::kWhole>(copy, rows, worker, memory);
  } else if (copy.aligned == 8) {
    write_units<2, Fit::kWhole>(copy, rows, worker, memory);
  } else if (copy.aligned == 4) {
    write_units<4, Fit::kByWords>(copy, rows, worker, memory);
  } else {
    write_units<4, Fit::kByBytes>(copy, rows, worker, memory);
  }
}

}  // namespace weft::reshard::execute::cuda
