// SPDX-License-Identifier: Apache-2.0
// What the kernels read: boxes to copy, and which warp copies which part of them. Made on the host
// by work.h, the same bytes in the memory of the GPU.
#pragma once

#include <cstdint>

namespace weft::reshard::execute::cuda {

/// Division by a number that is known before: n / d = (high half of n * multiplier + n) >> shift,
/// for n below 2^31.
struct Divisor {
  std::uint32_t divisor = 1;
  std::uint32_t multiplier = 1;
  std::uint32_t shift = 0;
};

/// One loop around the rows of a box. Boxes are small enough for 32 bits, which halves what threads
/// have to compute and to keep.
struct alignas(8) JobLoop {
  Divisor extent;
  std::uint32_t from = 0;  ///< bytes from one turn to the next
  std::uint32_t to = 0;
};

/// How a slot, the share of one thread, is copied.
enum class Way : std::uint8_t {
  kUnits,    ///< `width` bytes, aligned on both sides
  kShifted,  ///< the bytes of a row that fall into 16 aligned ones of the target
};

/// A box: rows of `run` bytes, each cut into slots.
struct alignas(16) Job {
  static constexpr int kLoops = 5;

  std::int64_t from = 0, to = 0;  ///< offsets into buffers
  std::int32_t from_buffer = 0, to_buffer = 0;
  std::uint32_t slots = 0;  ///< of all rows
  std::uint32_t run = 0;
  Divisor slots_of_row;
  Way way = Way::kUnits;
  std::uint8_t width = 16;
  std::uint8_t loops = 0;
  std::uint8_t type = 0;       ///< Type, of what is combined
  std::uint8_t operation = 0;  ///< Operation, likewise
  std::uint8_t unused[3] = {};
  std::uint32_t first_source = 0;  ///< of `sources` that are combined into the target, in order
  std::uint32_t sources = 0;
  /// Without sources: 16 bytes to fill with, or, to scale, times and over.
  alignas(16) std::int64_t constant[2] = {};
  JobLoop loop[kLoops];  ///< innermost first
};

/// Where one of several addends of the same box lies; the loops of the job apply to it.
struct Source {
  std::int64_t offset = 0;
  std::int32_t buffer = 0;
  std::int32_t unused = 0;
};

/// What one warp does: kSlotsOfShare slots of a job, or what is left of them.
inline constexpr std::uint32_t kSlotsOfShare = 256;
struct Share {
  std::uint32_t job = 0;
  std::uint32_t first = 0;
};

/// Boxes that lie side by side in rows of an array, and each dense in a message. Each row of the
/// array is `parts` parts of `part` bytes, one a box; each message is the parts of all rows, one
/// after the other. Blocks of threads take tiles of some rows and all parts, by way of memory of
/// their own, so that both sides are read and written in one piece, whatever the alignment.
struct alignas(16) Weave {
  static constexpr int kLoops = 5;
  static constexpr std::uint32_t kTileBytes = 16 << 10;
  static constexpr std::uint32_t kSegments = 128;  ///< most rows, and parts, of a tile

  std::int64_t rows_at = 0, parts_at = 0;  ///< offsets into buffers
  std::int32_t rows_buffer = 0, parts_buffer = 0;
  std::int64_t parts_step = 0;  ///< from a message to the next
  std::uint32_t rows = 0;
  std::uint32_t rows_of_tile = 0;
  std::uint32_t parts = 0;
  std::uint32_t part = 0;    ///< bytes, at least 16
  std::uint8_t packs = 0;    ///< from rows to messages; else back
  std::uint8_t aligned = 0;  ///< bytes that everything is a multiple of, up to 16
  std::uint8_t loops = 0;
  std::uint8_t unused = 0;
  /// 2^32 over a number, rounded up: multiplies, for numbers as small as those of a tile.
  std::uint32_t over_part = 0, over_units = 0, over_blocks = 0;
  /// Slots of a segment that is read and of one that is written, of a whole tile.
  std::uint32_t blocks = 0, units = 0;
  /// Not 0: the tile holds rows as they will be written, so far from each other; see tile_rows.h.
  std::uint32_t pitch = 0;
  struct Loop {
    Divisor extent;
    std::int64_t stride = 0;
  };
  Loop loop[kLoops];  ///< of rows in the array, innermost first
};

/// What one block of threads does: rows of a weave from one on.
struct Tile {
  std::uint32_t weave = 0;
  std::uint32_t first = 0;
};

/// Elements that can be combined. Numbers are part of the library's interface.
enum class Type : std::uint8_t {
  kBytes = 0,  ///< of any meaning: copied, never combined
  kF16 = 1,
  kBf16 = 2,
  kF32 = 3,
  kF64 = 4,
  kI8 = 5,
  kI16 = 6,
  kI32 = 7,
  kI64 = 8,
  kU8 = 9,
  kU16 = 10,
  kU32 = 11,
  kU64 = 12,
  kC64 = 13,
  kC128 = 14,
  kBool = 15,
};

enum class Operation : std::uint8_t {
  kCopy = 0,
  kSum = 1,
  kMin = 2,
  kMax = 3,
  kProd = 4,
  kScale = 5,  ///< by times / over, in whole numbers
};

}  // namespace weft::reshard::execute::cuda
