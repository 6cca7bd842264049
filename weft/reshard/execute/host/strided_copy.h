// SPDX-License-Identifier: Apache-2.0
// A box copied between two arrays in memory, each with strides of its own: what packs parts of an
// array into a message and unpacks them again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace weft::reshard {

/// One dimension of the box: how often, and how many bytes further each time.
struct CopyLoop {
  std::int64_t extent = 0;
  std::int64_t from = 0;
  std::int64_t to = 0;

  bool operator==(const CopyLoop&) const = default;
};

/// Prepared once for a shape, run for many arrays of it. Strides must be such that no two elements
/// are written to the same place, and the arrays must not overlap.
class StridedCopy {
 public:
  /// `element`: bytes of one. Loops may come in any order. `all`: bytes of what this is a piece of,
  /// if it is; what is large is written past the cache.
  StridedCopy(std::vector<CopyLoop> loops, std::int64_t element, std::int64_t all = 0);

  void run(const std::byte* from, std::byte* to) const;

  std::int64_t bytes() const { return bytes_; }
  /// How many of them lie side by side in both arrays.
  std::int64_t run_bytes() const { return run_; }
  /// What is left to be done for each such run, outermost first.
  const std::vector<CopyLoop>& loops() const { return loops_; }

  /// The part of it that lies between two fractions of the outermost loop, `share` of `shares`.
  void run_share(const std::byte* from, std::byte* to, std::int64_t share,
                 std::int64_t shares) const;

 private:
  /// Rows that are the innermost loop, or tiles of the two innermost ones where one side counts
  /// them the other way round.
  void run_loops(std::span<const CopyLoop> loops, const std::byte* from, std::byte* to) const;

  std::vector<CopyLoop> loops_;
  std::int64_t run_ = 0;
  std::int64_t bytes_ = 0;
  std::int64_t all_ = 0;
  bool crossed_ = false;  ///< the innermost loop of one array is not that of the other
};

struct CopyJob {
  const StridedCopy* copy = nullptr;
  const std::byte* from = nullptr;
  std::byte* to = nullptr;
};

/// All of them at once: boxes that interleave in an array meet in the cache, instead of fetching
/// each line of the array once a box. Boxes that are alike and fill rows side by side, in that
/// order, as messages from all senders do, are written row by row in whole lines; of others a slice
/// of each at a time.
void run_together(std::span<const CopyJob> jobs);

}  // namespace weft::reshard
