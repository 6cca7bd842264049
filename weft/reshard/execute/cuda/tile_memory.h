// SPDX-License-Identifier: Apache-2.0
// The shared memory of a block of threads for one tile, and the few instructions that differ
// between GPU and host.
#pragma once

#include <cstdint>

#include "weft/reshard/execute/cuda/work_list.h"

#if defined(__CUDACC__)
#define WEFT_GPU __host__ __device__ inline
#else
#define WEFT_GPU inline
#endif

namespace weft::reshard::execute::cuda {

/// A segment is a contiguous piece of memory: either a row of the array, or the tile's part of a
/// message. Packing reads rows and writes messages; unpacking does the opposite. So segments of one
/// kind are read, and segments of the other kind are written.
struct TileMemory {
  static constexpr std::uint32_t kBlock = 16;
  /// Each segment that is read starts in a new block of 16 bytes. It has the same offset in this
  /// block as in memory.
  static constexpr std::uint32_t kBytes =
      TiledCopy::kTileBytes + (2 * TiledCopy::kSegments + 1) * kBlock;

  std::uint64_t from[TiledCopy::kSegments];
  std::uint64_t to[TiledCopy::kSegments];
  std::uint32_t place[TiledCopy::kSegments];  ///< offset in `bytes` of each segment that is read
  alignas(kBlock) unsigned char bytes[kBytes];
};

/// One of `count` threads.
struct Worker {
  std::uint32_t number = 0;
  std::uint32_t count = 1;
};

WEFT_GPU std::uint32_t high_half(std::uint32_t a, std::uint32_t b) {
#if defined(__CUDA_ARCH__)
  return __umulhi(a, b);
#else
  return static_cast<std::uint32_t>((std::uint64_t{a} * b) >> 32);
#endif
}

WEFT_GPU std::uint32_t divided(std::uint32_t number, const Divisor& by) {
#if defined(__CUDA_ARCH__)
  return (__umulhi(number, by.multiplier) + number) >> by.shift;
#else
  return static_cast<std::uint32_t>(((std::uint64_t{number} * by.multiplier >> 32) + number) >>
                                    by.shift);
#endif
}

/// The 4 bytes that start `bits` bits after the beginning of two adjacent words.
WEFT_GPU std::uint32_t word_between(std::uint32_t low, std::uint32_t high, std::uint32_t bits) {
#if defined(__CUDA_ARCH__)
  return __funnelshift_r(low, high, bits);
#else
  return static_cast<std::uint32_t>(((std::uint64_t{high} << 32) | low) >> bits);
#endif
}

/// Starts to copy 16 aligned bytes into the tile, without waiting for them.
WEFT_GPU void fetch_block(unsigned char* place, std::uint64_t from) {
#if defined(__CUDA_ARCH__)
  const auto at = static_cast<std::uint32_t>(__cvta_generic_to_shared(place));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at), "l"(from) : "memory");
#else
  __builtin_memcpy(place, reinterpret_cast<const void*>(from), TileMemory::kBlock);
#endif
}

/// A sector is the unit in which the GPU's cache writes to memory. To write a part of a sector, the
/// cache first has to read the rest of it. If such sectors are prefetched, these reads run together
/// with all other reads instead of between the writes.
inline constexpr std::uint64_t kSector = 32;
WEFT_GPU void fetch_sector(std::uint64_t at) {
#if defined(__CUDA_ARCH__)
  asm volatile("prefetch.global.L2 [%0];" ::"l"(at));
#else
  static_cast<void>(at);
#endif
}

/// The address of a row's part in the message of that number.
WEFT_GPU std::uint64_t message_at(const TiledCopy& copy, std::uint64_t messages,
                                  std::uint32_t number, std::uint32_t row) {
  return messages + number * copy.parts_step + std::uint64_t{row} * copy.part;
}

template <int kWords>
struct alignas(4 * kWords) Words {
  std::uint32_t word[kWords];
};

WEFT_GPU std::uint32_t word_at(const TileMemory& memory, std::uint32_t place) {
  return *reinterpret_cast<const std::uint32_t*>(memory.bytes + place);
}
/// The word of 4 bytes that begins at any byte.
WEFT_GPU std::uint32_t word_around(const TileMemory& memory, std::uint32_t place) {
  const std::uint32_t low = place & ~3u;
  return word_between(word_at(memory, low), word_at(memory, low + 4), (place & 3) * 8);
}

/// The 16 bytes that start `shift` bytes after the beginning of two adjacent blocks.
WEFT_GPU Words<4> shifted(const Words<4>& first, const Words<4>& second, std::uint32_t shift) {
  const std::uint32_t *a = first.word, *b = second.word;
  const bool by8 = (shift & 8) != 0, by4 = (shift & 4) != 0;
  const std::uint32_t w[6] = {by8 ? a[2] : a[0], by8 ? a[3] : a[1], by8 ? b[0] : a[2],
                              by8 ? b[1] : a[3], by8 ? b[2] : b[0], by8 ? b[3] : b[1]};
  Words<4> words;
  for (int i = 0; i < 4; ++i) {
    words.word[i] = word_between(by4 ? w[i + 1] : w[i], by4 ? w[i + 2] : w[i + 1], (shift & 3) * 8);
  }
  return words;
}

}  // namespace weft::reshard::execute::cuda
