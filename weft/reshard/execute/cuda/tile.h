// SPDX-License-Identifier: Apache-2.0
// What the threads of a block do with a tile of a weave, step by step. Between two steps all of
// them wait for each other. The same on the host, where tests go through all threads in turn.
#pragma once

#include "weft/reshard/execute/cuda/tile_memory.h"
#include "weft/reshard/execute/cuda/tile_rows.h"

namespace weft::reshard::execute::cuda {

/// Bytes of a segment that is read, and of one that is written, where a tile has `rows` rows.
WEFT_GPU std::uint32_t bytes_read(const Weave& weave, std::uint32_t rows) {
  return (weave.packs ? weave.parts : rows) * weave.part;
}
WEFT_GPU std::uint32_t bytes_written(const Weave& weave, std::uint32_t rows) {
  return (weave.packs ? rows : weave.parts) * weave.part;
}

/// Where all segments lie. `array`, `messages`: where the weave begins.
WEFT_GPU void list_segments(const Weave& weave, std::uint32_t first, std::uint32_t rows,
                            std::uint64_t array, std::uint64_t messages, Worker worker,
                            TileMemory& memory) {
  for (std::uint32_t i = worker.number; i < rows + weave.parts; i += worker.count) {
    const bool is_row = i < rows;
    const std::uint32_t number = is_row ? i : i - rows;
    std::uint64_t at;
    if (is_row) {
      at = array;
      std::uint32_t row = first + number;
      for (int l = 0; l < weave.loops; ++l) {
        const Weave::Loop& loop = weave.loop[l];
        const std::uint32_t next = divided(row, loop.extent);
        at += (row - next * loop.extent.divisor) * loop.stride;
        row = next;
      }
    } else {
      at = message_at(weave, messages, number, first);
    }
    if (is_row == (weave.packs != 0)) {
      memory.from[number] = at;
      memory.place[number] =
          (number * weave.blocks) * TileMemory::kBlock + (at & (TileMemory::kBlock - 1));
    } else {
      memory.to[number] = at;
      const std::uint64_t end = at + bytes_written(weave, rows);
      if (at % kSector != 0) fetch_sector(at);
      if (end % kSector != 0) fetch_sector(end);
    }
  }
}

/// First: all lists, and, where that needs none, fetches all blocks.
WEFT_GPU void begin_tile(const Weave& weave, std::uint32_t first, std::uint32_t rows,
                         std::uint64_t array, std::uint64_t messages, Worker worker,
                         TileMemory& memory) {
  if (weave.pitch != 0) fetch_rows(weave, first, rows, messages, worker, memory);
  list_segments(weave, first, rows, array, messages, worker, memory);
}

/// Second: fetches all blocks that hold a byte of the tile, unless that is done. Afterwards they
/// have to have come.
WEFT_GPU void fetch_tile(const Weave& weave, std::uint32_t rows, Worker worker,
                         TileMemory& memory) {
  if (weave.pitch != 0) return;
  constexpr std::uint32_t kSize = TileMemory::kBlock;
  const std::uint32_t bytes = bytes_read(weave, rows);
  const std::uint32_t all = (weave.packs ? rows : weave.parts) * weave.blocks;
  for (std::uint32_t i = worker.number; i < all; i += worker.count) {
    const std::uint32_t segment = high_half(i, weave.over_blocks);
    const std::uint32_t block = i - segment * weave.blocks;
    const std::uint64_t from = memory.from[segment];
    if (block * kSize < bytes + (from & (kSize - 1))) {
      fetch_block(memory.bytes + i * kSize, (from & ~std::uint64_t{kSize - 1}) + block * kSize);
    }
  }
}

/// Where a unit's bytes lie in the tile: those below `left` at `first`, the others at `second`, as
/// if the unit began there as well.
struct Halves {
  std::uint32_t first, second;
  std::int32_t left;
};

/// Four words, of which threads begin with different ones: those of a unit lie in the same banks of
/// the memory as those of the unit after next, so that threads would wait for each other.
/// `word`: of a number from 0 to 3; `turn`: the number to begin with.
template <class Word>
WEFT_GPU Words<4> in_turn(std::uint32_t turn, Word word) {
  std::uint32_t a[4], b[4];
  for (std::uint32_t i = 0; i < 4; ++i) a[i] = word(static_cast<std::int32_t>((i + turn) & 3));
  for (std::uint32_t i = 0; i < 4; ++i) b[i] = (turn & 1) != 0 ? a[(i + 3) & 3] : a[i];
  Words<4> words;
  for (std::uint32_t i = 0; i < 4; ++i) words.word[i] = (turn & 2) != 0 ? b[(i + 2) & 3] : b[i];
  return words;
}

/// What lies on a multiple of 4 everywhere.
WEFT_GPU Words<4> aligned_words(const TileMemory& memory, const Halves& halves,
                                std::uint32_t turn) {
  return in_turn(turn, [&](std::int32_t i) {
    return word_at(memory, (4 * i < halves.left ? halves.first : halves.second) + 4 * i);
  });
}

/// What lies anywhere. One word may have bytes of both halves.
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

/// Bytes of a unit where parts do not consist of units.
inline constexpr std::uint32_t kShiftedUnit = 16;

/// How bytes get from the tile into units: kWhole: a unit lies in one piece, and on a multiple of
/// its size; kByWords, kByBytes: on a multiple of that.
enum class Fit { kWhole, kByWords, kByBytes };

/// Third: writes all aligned units that belong to a segment as a whole.
template <int kWords, Fit kFit>
WEFT_GPU void write_units(const Weave& weave, std::uint32_t rows, Worker worker,
                          const TileMemory& memory) {
  constexpr std::int32_t kUnit = 4 * kWords;
  const auto bytes = static_cast<std::int32_t>(bytes_written(weave, rows));
  const std::uint32_t all = (weave.packs ? weave.parts : rows) * weave.units;
  const std::uint32_t units = weave.units, over_units = weave.over_units;
  const std::uint32_t part_bytes = weave.part, over_part = weave.over_part;
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

/// Where a byte of a segment that is written lies in the tile.
WEFT_GPU std::uint32_t place_of(const Weave& weave, const TileMemory& memory, std::uint32_t segment,
                                std::uint32_t column) {
  if (weave.pitch != 0) return segment * weave.pitch + column;
  const std::uint32_t part = high_half(column, weave.over_part);
  return memory.place[part] + segment * weave.part + column - part * weave.part;
}

/// With the third, where units do not fit: what lies before the first unit of a segment and behind
/// the last, an element of `Element` a thread.
template <class Element>
WEFT_GPU void write_ends(const Weave& weave, std::uint32_t rows, Worker worker,
                         const TileMemory& memory) {
  constexpr std::uint32_t kUnit = kShiftedUnit, kSize = sizeof(Element), kMost = kUnit / kSize;
  const std::uint32_t bytes = bytes_written(weave, rows);
  const std::uint32_t all = (weave.packs ? weave.parts : rows) * 2 * kMost;
  for (std::uint32_t i = worker.number; i < all; i += worker.count) {
    const std::uint32_t segment = i / (2 * kMost), number = (i % kMost) * kSize;
    const std::uint64_t to = memory.to[segment];
    const std::uint32_t head = static_cast<std::uint32_t>(-to) & (kUnit - 1);
    const std::uint32_t tail = (bytes - head) & (kUnit - 1);
    const bool at_end = (i & kMost) != 0;
    if (number >= (at_end ? tail : head)) continue;
    const std::uint32_t column = at_end ? bytes - tail + number : number;
    *reinterpret_cast<Element*>(to + column) =
        *reinterpret_cast<const Element*>(memory.bytes + place_of(weave, memory, segment, column));
  }
}

/// With the third: all ends of segments that are not whole units.
WEFT_GPU void write_all_ends(const Weave& weave, std::uint32_t rows, Worker worker,
                             const TileMemory& memory) {
  const bool by_rows = weave.pitch != 0;
  if (weave.aligned == 8 && by_rows) {
    write_ends<std::uint64_t>(weave, rows, worker, memory);
  } else if (weave.aligned == 4) {
    write_ends<std::uint32_t>(weave, rows, worker, memory);
  } else if (weave.aligned < 4 && by_rows) {
    write_ends_of_rows(weave, rows, worker, memory);
  } else if (weave.aligned < 4) {
    write_ends<unsigned char>(weave, rows, worker, memory);
  }
}

/// The third step of any weave.
WEFT_GPU void write_tile(const Weave& weave, std::uint32_t rows, Worker worker,
                         const TileMemory& memory) {
  write_all_ends(weave, rows, worker, memory);
  if (weave.pitch != 0) {
    write_rows(weave, rows, worker, memory);
  } else if (weave.aligned == 16) {
    write_units<4, Fit::kWhole>(weave, rows, worker, memory);
  } else if (weave.aligned == 8) {
    write_units<2, Fit::kWhole>(weave, rows, worker, memory);
  } else if (weave.aligned == 4) {
    write_units<4, Fit::kByWords>(weave, rows, worker, memory);
  } else {
    write_units<4, Fit::kByBytes>(weave, rows, worker, memory);
  }
}

}  // namespace weft::reshard::execute::cuda
