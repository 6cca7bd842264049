// SPDX-License-Identifier: Apache-2.0
// Copies a box between two arrays in memory, each with its own strides. It packs parts of an array
// into a message and unpacks them again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "weft/reshard/layout/short_list.h"

namespace weft::reshard {

/// One dimension of the box: how many steps, and the bytes per step in each array.
struct CopyLoop {
  std::int64_t extent = 0;
  std::int64_t from = 0;
  std::int64_t to = 0;

  bool operator==(const CopyLoop&) const = default;
};

/// The position of a copy in its outer loops.
class LoopWalk {
 public:
  LoopWalk(std::span<const CopyLoop> loops, const std::byte* first, std::byte* place)
      : from(first), to(place), loops_(loops), at_(loops.size()) {}

  /// Goes to the next position. False if there is none.
  bool next() {
    for (std::size_t d = loops_.size(); d > 0; --d) {
      const CopyLoop& loop = loops_[d - 1];
      from += loop.from;
      to += loop.to;
      if (++at_[d - 1] < loop.extent) return true;
      from -= loop.from * loop.extent;
      to -= loop.to * loop.extent;
      at_[d - 1] = 0;
    }
    return false;
  }

  const std::byte* from;
  std::byte* to;

 private:
  std::span<const CopyLoop> loops_;
  ShortList<std::int64_t, 6> at_;
};

/// Prepared once for a shape, then run for many arrays of it. Strides must be such that no two
/// elements are written to the same place. The two arrays must not overlap.
class StridedCopy {
 public:
  /// `element`: bytes of one element. Loops may come in any order. `all`: if this is a piece of a
  /// larger copy, the bytes of that; a large target is written past the cache.
  StridedCopy(std::vector<CopyLoop> loops, std::int64_t element, std::int64_t all = 0);

  void run(const std::byte* from, std::byte* to) const;

  std::int64_t bytes() const { return bytes_; }
  /// Bytes that are contiguous in both arrays.
  std::int64_t run_bytes() const { return run_; }
  /// The loops around such a run, outermost first.
  const std::vector<CopyLoop>& loops() const { return loops_; }

  /// Copies part `slice` of `slices` equal parts of the outermost loop.
  void run_slice(const std::byte* from, std::byte* to, std::int64_t slice,
                 std::int64_t slices) const;

 private:
  /// Copies rows along the innermost loop; if the innermost loops of both arrays differ, tiles of
  /// the two innermost loops.
  void run_loops(std::span<const CopyLoop> loops, const std::byte* from, std::byte* to) const;

  std::vector<CopyLoop> loops_;
  std::int64_t run_ = 0;
  std::int64_t bytes_ = 0;
  std::int64_t all_ = 0;
  bool crossed_ = false;  ///< the innermost loops of both arrays differ, as in a transposition
};

struct CopyJob {
  const StridedCopy* copy = nullptr;
  const std::byte* from = nullptr;
  std::byte* to = nullptr;
};

/// Runs all jobs at the same time, so that boxes which interleave in an array share its cache lines
/// instead of fetching each line once per box. Consecutive jobs with equal loops that fill adjacent
/// rows, as the messages of all senders do, are written row by row in whole lines. Of all other
/// jobs, a slice of each is run at a time.
void run_together(std::span<const CopyJob> jobs);

}  // namespace weft::reshard
