// SPDX-License-Identifier: Apache-2.0
// What the threads of a block know of a tile of a weave, and the few instructions that differ
// between the GPU and the host, where tests go through all threads in turn.
#pragma once

#include <cstdint>

#include "weft/reshard/execute/cuda/job.h"

#if defined(__CUDACC__)
#define WEFT_GPU __host__ __device__ inline
#else
#define WEFT_GPU inline
#endif

namespace weft::reshard::execute::cuda {

/// Of a block. Segments are what lies in one piece: rows and parts of messages, the ones read and
/// the others written.
struct TileMemory {
  static constexpr std::uint32_t kBlock = 16;
  /// Segments begin with a block, at the place of it that they have in memory.
  static constexpr std::uint32_t kBytes = Weave::kTileBytes + (2 * Weave::kSegments + 1) * kBlock;

  std::uint64_t from[Weave::kSegments];
  std::uint64_t to[Weave::kSegments];
  std::uint32_t place[Weave::kSegments];  ///< in `bytes`, of what `from` tells
  alignas(kBlock) unsigned char bytes[kBytes];
};

/// Which thread, of how many.
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

/// 4 bytes from any place, in two neighbouring words.
WEFT_GPU std::uint32_t word_between(std::uint32_t low, std::uint32_t high, std::uint32_t bits) {
#if defined(__CUDA_ARCH__)
  return __funnelshift_r(low, high, bits);
#else
  return static_cast<std::uint32_t>(((std::uint64_t{high} << 32) | low) >> bits);
#endif
}

/// 16 aligned bytes, which the thread need not wait for.
WEFT_GPU void fetch_block(unsigned char* place, std::uint64_t from) {
#if defined(__CUDA_ARCH__)
  const auto at = static_cast<std::uint32_t>(__cvta_generic_to_shared(place));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at), "l"(from) : "memory");
#else
  __builtin_memcpy(place, reinterpret_cast<const void*>(from), TileMemory::kBlock);
#endif
}

/// What the cache of the GPU writes to memory at a time. Of one that is written in parts it has to
/// know the rest: asked for early, that comes with everything else that is read, instead of
/// between writes.
inline constexpr std::uint64_t kSector = 32;
WEFT_GPU void fetch_sector(std::uint64_t at) {
#if defined(__CUDA_ARCH__)
  asm volatile("prefetch.global.L2 [%0];" ::"l"(at));
#else
  static_cast<void>(at);
#endif
}

/// Where the part of a row lies in the message of a number.
WEFT_GPU std::uint64_t message_at(const Weave& weave, std::uint64_t messages, std::uint32_t number,
                                  std::uint32_t row) {
  return messages + number * weave.parts_step + std::uint64_t{row} * weave.part;
}

template <int kWords>
struct alignas(4 * kWords) Words {
  std::uint32_t word[kWords];
};

WEFT_GPU std::uint32_t word_at(const TileMemory& memory, std::uint32_t place) {
  return *reinterpret_cast<const std::uint32_t*>(memory.bytes + place);
}
/// At any byte.
WEFT_GPU std::uint32_t word_around(const TileMemory& memory, std::uint32_t place) {
  const std::uint32_t low = place & ~3u;
  return word_between(word_at(memory, low), word_at(memory, low + 4), (place & 3) * 8);
}

/// 16 bytes from any place, in two neighbouring blocks.
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
