// SPDX-License-Identifier: Apache-2.0
// Copies rows of equal length and distance. Private to StridedCopy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace weft::reshard {

struct Rows {
  const std::byte* from = nullptr;
  std::int64_t from_step = 0;  ///< bytes from one row to the next
  std::byte* to = nullptr;
  std::int64_t to_step = 0;
  std::int64_t bytes = 0;  ///< of a row
  std::int64_t count = 0;
  /// Rows of the same length and distance that will be copied soon: the copy prefetches one of them
  /// for each row that it copies; null: none.
  const std::byte* upcoming = nullptr;
};
using CopyRows = void (*)(const Rows& rows);

/// How far ahead to prefetch, in bytes that are copied before. Nearer is too late, since pages have
/// to be looked up as well; farther, and lines may have left the cache again when they are needed.
constexpr std::int64_t kPrefetchBytes = 16 << 10;

/// A target this large does not stay in a cache: it is written past it, without being read first.
constexpr std::int64_t kStreamed = 4 << 20;

/// The best instruction set that the processor offers.
enum class Vectors { kNone, kAvx2, kAvx512 };
Vectors available_vectors();

/// The fastest function for rows of that length and distance, if the whole target has `all` bytes.
/// All functions do the same.
CopyRows choose_copy_rows(std::int64_t bytes, std::int64_t to_step, std::int64_t all,
                          Vectors vectors);

/// Rows from several sources, interleaved at the destination: the first row of each source, the
/// second row of each, and so on, without gaps. So an array is assembled from messages whose rows
/// alternate in it.
struct InterleavedRows {
  std::span<const std::byte* const> from;
  std::int64_t from_step = 0;  ///< bytes from one row to the next of the same source
  std::byte* to = nullptr;
  std::int64_t bytes = 0;  ///< of a row, at least kShortestInterleaved
  std::int64_t count = 0;  ///< rows of each source
};
/// One cache line.
constexpr std::int64_t kShortestInterleaved = 64;
/// For targets that do not stay in a cache.
void copy_interleaved_rows(const InterleavedRows& rows, Vectors vectors);

/// Orders streaming stores. Call it after the last copy, before another thread reads the target.
void finish_copies();

}  // namespace weft::reshard
