// SPDX-License-Identifier: Apache-2.0
// What the kernels read: boxes to copy, and which warp or block of threads copies which part of the
// boxes. work.h makes this list on the host. It is copied to the GPU's memory byte by byte.
#pragma once

#include <cstdint>

namespace weft::reshard::execute::cuda {

/// Division by a number that is known in advance: n / d = (high half of (n * multiplier) + n) >>
/// shift, for n below 2^31.
struct Divisor {
  std::uint32_t divisor = 1;
  std::uint32_t multiplier = 1;
  std::uint32_t shift = 0;
};

/// One loop around the rows of a box. Boxes are so small that 32-bit numbers are enough. This
/// halves the arithmetic and the registers of threads.
struct alignas(8) BoxLoop {
  Divisor extent;
  std::uint32_t from = 0;  ///< bytes from one iteration to the next
  std::uint32_t to = 0;
};

/// How a slot is copied. A slot is what one thread copies at a time, up to 16 bytes of a row.
enum class Access : std::uint8_t {
  kUnits,    ///< `width` bytes that are aligned on both sides
  kShifted,  ///< 16 aligned bytes of the target, gathered from two aligned blocks of the source
};

/// A box: rows of `run` bytes, each divided into slots.
struct alignas(16) BoxWork {
  static constexpr int kLoops = 5;

  std::int64_t from = 0, to = 0;  ///< offsets into buffers
  std::int32_t from_buffer = 0, to_buffer = 0;
  std::uint32_t slots = 0;  ///< number of slots (see Access) in all rows together
  std::uint32_t run = 0;
  Divisor slots_of_row;
  Access access = Access::kUnits;
  std::uint8_t width = 16;
  std::uint8_t loops = 0;
  std::uint8_t type = 0;       ///< a Type, if something is combined
  std::uint8_t operation = 0;  ///< an Operation, if something is combined
  std::uint8_t unused[3] = {};
  std::uint32_t first_source = 0;  ///< index of the first source to combine into the target
  std::uint32_t sources = 0;
  /// Only in boxes without sources: the 16 bytes with which to fill the target, or the factor and
  /// the divisor by which to scale it.
  alignas(16) std::int64_t constant[2] = {};
  BoxLoop loop[kLoops];  ///< innermost first
};

/// One of several addends of the same box. It has the same loops as the box.
struct Source {
  std::int64_t offset = 0;
  std::int32_t buffer = 0;
  std::int32_t unused = 0;
};

/// What one warp does: it handles kSlotsOfWarp slots of a box, or the remaining slots if there are
/// fewer.
inline constexpr std::uint32_t kSlotsOfWarp = 256;
struct WarpWork {
  std::uint32_t box = 0;
  std::uint32_t first = 0;
};

/// A copy between an array and several dense messages, in tiles. Each row of the array consists of
/// `parts` parts of `part` bytes, one part per message. Each message contains its parts of all
/// rows, one after the other. A tile is some rows with all their parts. A block of threads copies a
/// tile through its shared memory. So the array and the messages are accessed in long contiguous
/// pieces, whatever their alignment.
struct alignas(16) TiledCopy {
  static constexpr int kLoops = 5;
  static constexpr std::uint32_t kTileBytes = 16 << 10;
  static constexpr std::uint32_t kSegments = 128;  ///< most rows and most parts of a tile

  std::int64_t rows_at = 0, parts_at = 0;  ///< offsets in buffers
  std::int32_t rows_buffer = 0, parts_buffer = 0;
  std::int64_t parts_step = 0;  ///< bytes from one message to the next
  std::uint32_t rows = 0;
  std::uint32_t rows_of_tile = 0;
  std::uint32_t parts = 0;
  std::uint32_t part = 0;    ///< bytes, at least 16
  std::uint8_t packs = 0;    ///< 1: from rows to messages; 0: from messages to rows
  std::uint8_t aligned = 0;  ///< addresses and lengths are multiples of this, up to 16
  std::uint8_t loops = 0;
  std::uint8_t unused = 0;
  /// Each of these is 2^32 divided by a number, rounded up. To divide x by the number, multiply x
  /// by this value and take the high half of the product. The result is exact if x is as small as
  /// numbers are in a tile.
  std::uint32_t over_part = 0, over_units = 0, over_blocks = 0;
  /// For a tile with all its rows: the blocks per segment that is read, and the units per segment
  /// that is written. See tile_memory.h.
  std::uint32_t blocks = 0, units = 0;
  /// If not 0, the tile stores rows as they are in the array, and this is the distance between rows
  /// in bytes; see tile_rows.h.
  std::uint32_t pitch = 0;
  struct Loop {
    Divisor extent;
    std::int64_t stride = 0;
  };
  Loop loop[kLoops];  ///< over the rows of the array, innermost first
};

/// What one block of threads does: it copies the rows of a tiled copy from `first` on.
struct Tile {
  std::uint32_t copy = 0;
  std::uint32_t first = 0;
};

/// Types of elements that can be combined. The numbers are part of the library's interface.
enum class Type : std::uint8_t {
  kBytes = 0,  ///< elements of unknown type: copied, never combined
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
  kScale = 5,  ///< multiplies by a factor and divides by a divisor, both integers
};

}  // namespace weft::reshard::execute::cuda
