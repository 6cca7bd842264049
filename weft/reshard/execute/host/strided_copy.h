// SPDX-License-Identifier: Apache-2.0
// Copies a box between two arrays in memory. Each array has its own strides. With this, parts of an
// array are packed into a message and unpacked again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "weft/reshard/layout/short_list.h"

namespace weft::reshard {

/// One dimension of the box: the number of steps (`extent`), and the bytes per step in each array.
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

  /// Goes to the next position. Returns false if there is none.
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

/// A copy is prepared once for a shape. It can then run for many arrays of this shape. The strides
/// must not write two elements to the same place. The two arrays must not overlap.
class StridedCopy {
 public:
  /// `element` is the size of one element in bytes. Loops may come in any order. If this copy is a
  /// piece of a larger copy, `all` is the size of the larger copy in bytes. A large target is
  /// written past the cache.
  StridedCopy(std::vector<CopyLoop> loops, std::int64_t element, std::int64_t all = 0);

  void run(const std::byte* from, std::byte* to) const;

  std::int64_t bytes() const { return bytes_; }
  /// The length of the runs: the bytes that are contiguous in both arrays.
  std::int64_t run_bytes() const { return run_; }
  /// The loops around a run, outermost first.
  const std::vector<CopyLoop>& loops() const { return loops_; }

  /// Divides the outermost loop into `slices` equal parts, and copies part `slice`.
  void run_slice(const std::byte* from, std::byte* to, std::int64_t slice,
                 std::int64_t slices) const;

 private:
  /// Copies rows along the innermost loop. If the arrays have different innermost loops, copies
  /// tiles of the two innermost loops instead.
  void run_loops(std::span<const CopyLoop> loops, const std::byte* from, std::byte* to) const;

  std::vector<CopyLoop> loops_;
  std::int64_t run_ = 0;
  std::int64_t bytes_ = 0;
  std::int64_t all_ = 0;
  bool crossed_ = false;  ///< the innermost loops of the two arrays differ, as in a transposition
};

struct CopyJob {
  const StridedCopy* copy = nullptr;
  const std::byte* from = nullptr;
  std::byte* to = nullptr;
};

/// Runs all jobs at the same time. If their boxes interleave in an array, they then share its cache
/// lines, instead of fetching each line once per box. Some consecutive jobs have equal loops and
/// fill adjacent rows, as the messages of all senders do. These jobs are written row by row, in
/// whole lines. The other jobs take turns, one slice of each at a time.
void run_together(std::span<const CopyJob> jobs);

}  // namespace weft::reshard
