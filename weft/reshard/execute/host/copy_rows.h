// SPDX-License-Identifier: Apache-2.0
// Copies rows of equal length and distance. Only StridedCopy uses this file.
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
  std::int64_t bytes = 0;  ///< length of a row
  std::int64_t count = 0;
  /// Rows of the same length and distance that will be copied soon. For each row that is copied,
  /// one of these rows is prefetched. Null: there are none.
  const std::byte* upcoming = nullptr;
};
using CopyRows = void (*)(const Rows& rows);

/// How far ahead to prefetch: this many bytes are copied between the prefetch of a line and its
/// use. With a smaller distance, lines arrive too late, because the address of their page must be
/// looked up too. With a larger distance, lines may have left the cache before they are used.
constexpr std::int64_t kPrefetchBytes = 16 << 10;

/// A target of at least this many bytes does not stay in a cache. It is written past the cache,
/// without being read first.
constexpr std::int64_t kStreamed = 4 << 20;

/// The vector instructions that can be used. available_vectors() returns the best that the
/// processor offers.
enum class Vectors { kNone, kAvx2, kAvx512 };
Vectors available_vectors();

/// The fastest function for rows of that length and distance, if the whole target has `all` bytes.
/// All functions give the same result.
CopyRows choose_copy_rows(std::int64_t bytes, std::int64_t to_step, std::int64_t all,
                          Vectors vectors);

/// Rows from several sources that are interleaved at the destination: first the first row of each
/// source, then the second row of each, and so on, without gaps. Such rows occur if an array is
/// assembled from messages whose rows alternate in the array.
struct InterleavedRows {
  std::span<const std::byte* const> from;
  std::int64_t from_step = 0;  ///< bytes from one row to the next of the same source
  std::byte* to = nullptr;
  std::int64_t bytes = 0;  ///< length of a row, at least kShortestInterleaved
  std::int64_t count = 0;  ///< rows of each source
};
/// Rows must have at least this many bytes: one cache line.
constexpr std::int64_t kShortestInterleaved = 64;
/// Copies interleaved rows to a target that does not stay in a cache.
void copy_interleaved_rows(const InterleavedRows& rows, Vectors vectors);

/// Makes streaming stores visible to other threads. Call this after the last copy, before another
/// thread reads the target.
void finish_copies();

}  // namespace weft::reshard
