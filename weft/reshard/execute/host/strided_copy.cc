// SPDX-License-Identifier: Apache-2.0
// Copies boxes. First a copy is brought into a normal form. Loops are sorted by their steps at the
// destination. Loops that continue each other are merged. An innermost loop that is contiguous
// becomes a run of bytes. Then copy_rows.h copies the runs of the innermost remaining loop as rows.
#include "weft/reshard/execute/host/strided_copy.h"

#include <algorithm>
#include <cstdlib>
#include <tuple>

#include "weft/reshard/execute/host/copy_rows.h"
#include "weft/reshard/layout/short_list.h"

namespace weft::reshard {
namespace {

/// Merges two nested loops if each step of the outer loop continues where the inner loop ends.
std::vector<CopyLoop> joined(std::vector<CopyLoop> loops) {
  std::erase_if(loops, [](const CopyLoop& loop) { return loop.extent == 1; });
  // Sort by the steps at the destination, because writes that are out of order cost more than reads
  // that are out of order.
  std::sort(loops.begin(), loops.end(), [](const CopyLoop& a, const CopyLoop& b) {
    return std::tuple{a.to, a.from, a.extent} > std::tuple{b.to, b.from, b.extent};
  });
  std::vector<CopyLoop> found;
  for (const CopyLoop& loop : loops) {
    const bool goes_on = !found.empty() && found.back().to == loop.to * loop.extent &&
                         found.back().from == loop.from * loop.extent;
    if (goes_on) {
      found.back() = {found.back().extent * loop.extent, loop.from, loop.to};
    } else {
      found.push_back(loop);
    }
  }
  return found;
}

/// The number of rows and columns of a tile. It is so small that the lines of the two arrays stay
/// in the first-level cache.
constexpr std::int64_t kTile = 32;

void copy_tiles(const CopyLoop& outer, const CopyLoop& inner, CopyRows copy, Rows rows) {
  const std::byte* from = rows.from;
  std::byte* to = rows.to;
  for (std::int64_t i = 0; i < outer.extent; i += kTile) {
    for (std::int64_t j = 0; j < inner.extent; j += kTile) {
      rows.count = std::min(kTile, inner.extent - j);
      for (std::int64_t k = i; k < std::min(i + kTile, outer.extent); ++k) {
        rows.from = from + k * outer.from + j * inner.from;
        rows.to = to + k * outer.to + j * inner.to;
        copy(rows);
      }
    }
  }
}

/// Runs the innermost loop for each position of the outer loops.
void copy_loops(std::span<const CopyLoop> outer, CopyRows copy, Rows rows) {
  LoopWalk walk(outer, rows.from, rows.to);
  do {
    rows.from = walk.from;
    rows.to = walk.to;
    copy(rows);
  } while (walk.next());
}

/// Like copy_loops(), but prefetches the rows of later positions of the loops.
void copy_loops_prefetching(std::span<const CopyLoop> outer, CopyRows copy, Rows rows) {
  const std::int64_t ahead = 1 + kPrefetchBytes / rows.bytes;
  // The hardware prefetches rows that are closer than a line.
  const bool prefetches = rows.from_step >= 64 || rows.from_step <= -64;
  LoopWalk now(outer, rows.from, rows.to), later = now;
  bool more = true;
  for (std::int64_t i = ahead; more && i > 0; i -= rows.count) more = later.next();
  const std::int64_t count = rows.count;
  do {
    // Divide the rows of a position into two parts. While the last rows are copied, the first rows
    // of the next position are prefetched.
    const std::int64_t alone = std::max<std::int64_t>(0, count - ahead);
    rows = {now.from, rows.from_step, now.to, rows.to_step, rows.bytes, alone, nullptr};
    if (prefetches) rows.upcoming = now.from + ahead * rows.from_step;
    if (alone > 0) copy(rows);
    rows.from += alone * rows.from_step;
    rows.to += alone * rows.to_step;
    rows.count = count - alone;
    rows.upcoming = prefetches && more ? later.from : nullptr;
    copy(rows);
    if (more) more = later.next();
  } while (now.next());
}

}  // namespace

StridedCopy::StridedCopy(std::vector<CopyLoop> loops, std::int64_t element, std::int64_t all)
    : run_(element), bytes_(element), all_(all) {
  for (const CopyLoop& loop : loops) bytes_ *= loop.extent;
  if (bytes_ <= 0) {
    bytes_ = 0;
    return;
  }
  loops_ = joined(std::move(loops));
  if (!loops_.empty() && loops_.back().from == element && loops_.back().to == element) {
    run_ *= loops_.back().extent;
    loops_.pop_back();
  }
  if (loops_.size() < 2 || run_ >= 64) return;
  // The copy may be a transposition. The innermost loop has the smallest step at the destination.
  // Put the loop with the smallest step in the source next to it, so that the two loops form tiles.
  const auto closest = std::min_element(
      loops_.begin(), loops_.end(),
      [](const CopyLoop& a, const CopyLoop& b) { return std::abs(a.from) < std::abs(b.from); });
  crossed_ = closest + 1 != loops_.end();
  if (crossed_) std::rotate(closest, closest + 1, loops_.end() - 1);
}

void StridedCopy::run_loops(std::span<const CopyLoop> loops, const std::byte* from,
                            std::byte* to) const {
  const CopyLoop once{1, 0, 0};
  const CopyLoop& inner = loops.empty() ? once : loops.back();
  const std::int64_t all = std::max(all_, bytes_);
  const CopyRows copy = choose_copy_rows(run_, inner.to, all, available_vectors());
  Rows rows{from, inner.from, to, inner.to, run_, inner.extent, nullptr};
  if (!crossed_) {
    const std::span<const CopyLoop> outer = loops.first(loops.empty() ? 0 : loops.size() - 1);
    bytes_ > kPrefetchBytes ? copy_loops_prefetching(outer, copy, rows)
                            : copy_loops(outer, copy, rows);
  } else {
    LoopWalk walk(loops.first(loops.size() - 2), from, to);
    do {
      rows.from = walk.from;
      rows.to = walk.to;
      copy_tiles(loops[loops.size() - 2], inner, copy, rows);
    } while (walk.next());
  }
  // Only streaming stores need this fence. It also waits for normal stores, so small copies skip
  // it.
  if (all >= kStreamed) finish_copies();
}

void StridedCopy::run(const std::byte* from, std::byte* to) const {
  if (bytes_ > 0) run_loops(loops_, from, to);
}

void StridedCopy::run_slice(const std::byte* from, std::byte* to, std::int64_t slice,
                            std::int64_t slices) const {
  if (bytes_ == 0) return;
  std::vector<CopyLoop> loops = loops_;
  if (loops.empty()) loops = {{1, 0, 0}};
  CopyLoop& outermost = loops.front();
  const std::int64_t begin = outermost.extent * slice / slices;
  outermost.extent = outermost.extent * (slice + 1) / slices - begin;
  if (outermost.extent == 0) return;
  run_loops(loops, from + begin * outermost.from, to + begin * outermost.to);
}

namespace {

/// Whether the rows of b begin where the rows of a end.
bool goes_on(const CopyJob& a, const CopyJob& b) {
  return b.to == a.to + a.copy->run_bytes() && a.copy->run_bytes() == b.copy->run_bytes() &&
         a.copy->loops() == b.copy->loops();
}

/// How many of the first jobs fill adjacent rows and should be interleaved. Interleaving is worth
/// it only if these jobs are too large for a cache. If such jobs are not interleaved, each line is
/// written to memory in pieces.
std::size_t count_interleaved(std::span<const CopyJob> jobs) {
  const StridedCopy& copy = *jobs.front().copy;
  if (copy.run_bytes() < kShortestInterleaved || copy.loops().empty()) return 1;
  std::size_t count = 1;
  while (count < jobs.size() && goes_on(jobs[count - 1], jobs[count])) ++count;
  return copy.bytes() * static_cast<std::int64_t>(count) < kStreamed ? 1 : count;
}

/// Copies one row of each job in turn. If each iteration of the innermost loop continues where the
/// previous iteration ended, all rows are written as one stream. Otherwise there is one stream per
/// iteration.
void interleave(std::span<const CopyJob> jobs) {
  const StridedCopy& copy = *jobs.front().copy;
  const std::span<const CopyLoop> loops = copy.loops();
  const CopyLoop& inner = loops.back();
  const std::int64_t row = copy.run_bytes() * static_cast<std::int64_t>(jobs.size());
  const std::int64_t streamed = inner.to == row ? inner.extent : 1;
  const Vectors vectors = available_vectors();
  std::vector<const std::byte*> from(jobs.size());
  LoopWalk walk(loops.first(loops.size() - 1), jobs.front().from, jobs.front().to);
  do {
    for (std::int64_t first = 0; first < inner.extent; first += streamed) {
      const std::int64_t at = walk.from - jobs.front().from + first * inner.from;
      for (std::size_t i = 0; i < jobs.size(); ++i) from[i] = jobs[i].from + at;
      copy_interleaved_rows(
          {from, inner.from, walk.to + first * inner.to, copy.run_bytes(), streamed}, vectors);
    }
  } while (walk.next());
  finish_copies();
}

/// Runs a slice of each job at a time.
void run_in_slices(std::span<const CopyJob> jobs) {
  // A slice is larger than the second-level cache and much smaller than the third-level cache.
  // Shorter slices would spend a larger share of their time at the start, before any prefetch has
  // arrived.
  constexpr std::int64_t kSlice = 2 << 20;
  std::int64_t bytes = 0;
  for (const CopyJob& job : jobs) bytes += job.copy->bytes();
  const std::int64_t slices = std::max<std::int64_t>(1, bytes / kSlice);
  for (std::int64_t slice = 0; slice < slices; ++slice) {
    for (const CopyJob& job : jobs) job.copy->run_slice(job.from, job.to, slice, slices);
  }
}

}  // namespace

void run_together(std::span<const CopyJob> jobs) {
  std::vector<CopyJob> others;
  while (!jobs.empty()) {
    const std::size_t interleaved = count_interleaved(jobs);
    if (interleaved > 1) {
      interleave(jobs.first(interleaved));
    } else {
      others.push_back(jobs.front());
    }
    jobs = jobs.subspan(interleaved);
  }
  run_in_slices(others);
}

}  // namespace weft::reshard
