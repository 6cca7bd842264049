// SPDX-License-Identifier: Apache-2.0
// Rows of equal length, copied from one place to another at a time. Private to StridedCopy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace weft::reshard {

struct Rows {
  const std::byte* from = nullptr;
  std::int64_t from_step = 0;  ///< from a row to the next
  std::byte* to = nullptr;
  std::int64_t to_step = 0;
  std::int64_t bytes = 0;  ///< of a row
  std::int64_t count = 0;
  /// As many rows at the same distance, which will be copied soon and are to be fetched meanwhile;
  /// null: none.
  const std::byte* soon = nullptr;
};
using CopyRows = void (*)(const Rows& rows);

/// Rows are best asked for when this many bytes of others are to be copied before them: pages have
/// to be looked up, too. Farther than that they might leave the cache again.
constexpr std::int64_t kSoonBytes = 16 << 10;

/// What is this large does not stay in a cache, so that it need not be read before it is written.
constexpr std::int64_t kStreamed = 4 << 20;

/// What the processor offers, the best of these.
enum class Vectors { kNone, kAvx2, kAvx512 };
Vectors available_vectors();

/// The fastest for rows of that length and distance, of which there are `all` bytes in the end. All
/// do the same.
CopyRows choose_copy_rows(std::int64_t bytes, std::int64_t to_step, std::int64_t all,
                          Vectors vectors);

/// Rows of several places in turns: the first of each, the second of each, and so on, one beside
/// the other where they go. So an array is put together from messages that interleave in it.
struct WovenRows {
  std::span<const std::byte* const> from;
  std::int64_t from_step = 0;  ///< from a row to the next of the same place
  std::byte* to = nullptr;
  std::int64_t bytes = 0;  ///< of a row, at least kWeavable
  std::int64_t count = 0;  ///< of each place
};
/// A line of the cache.
constexpr std::int64_t kWeavable = 64;
/// For what does not stay in a cache.
void copy_woven_rows(const WovenRows& rows, Vectors vectors);

/// To be called after the last of what is streamed, before anybody else reads what was written.
void finish_copies();

}  // namespace weft::reshard
