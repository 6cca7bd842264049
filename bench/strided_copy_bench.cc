// SPDX-License-Identifier: Apache-2.0
// Measures how fast boxes are packed into messages and unpacked from them. Each speed is divided by
// the speed of a memcpy of the same number of bytes of the same memory, which runs right before.
// Only the bytes of the boxes count, not the other bytes that the hardware moves.
//
// An array of 64 MiB is cut into columns, as for an all-to-all: every row has one run of bytes for
// each of several receivers. It is packed (or unpacked) in three ways, one column of the table
// each:
//   one        only the runs of one receiver; the hardware also fetches bytes between the runs, and
//              cache lines that two runs share are fetched for one of them
//   each       all receivers, one after the other: passes over the array once per receiver
//   together   all receivers with run_together(): passes over the array once
// The limit: `together` must reach 80 % of memcpy for runs of 64 bytes or more.
//
// Three more columns show what memory allows for one receiver alone:
//   bound      the highest value that memory allows. Memory moves whole cache lines: a run of 80
//              bytes is read as 128 bytes, and a line that is written in part is read first. The
//              bound is the number of bytes that memcpy must move (reads and writes) divided by the
//              number of bytes in these lines
//   of it      `one` divided by the bound, or by 1 if the bound is above 1
//   lines      the speed of a loop that only reads (or writes) all lines of the runs. It is
//   measured
//              if runs are not whole lines. It is below the bound because the hardware also fetches
//              lines that were not requested, and can have only a limited number of open requests
// Exit status: 0 if the limit holds, 1 otherwise.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "weft/reshard/execute/host/strided_copy.h"

namespace {

using weft::reshard::CopyJob;
using weft::reshard::CopyLoop;
using weft::reshard::StridedCopy;

constexpr std::int64_t kBytes = 64 << 20;
constexpr int kRepeats = 7;

struct Array {
  explicit Array(std::int64_t bytes)
      : memory(static_cast<std::byte*>(std::aligned_alloc(4096, static_cast<std::size_t>(bytes)))) {
    std::memset(memory, 1, static_cast<std::size_t>(bytes));
  }
  ~Array() { std::free(memory); }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  std::byte* memory;
};

using Work = std::function<void()>;

/// Processor seconds of this thread. Other load on the machine does not count, except that it
/// shares the memory bandwidth.
double seconds(const Work& work) {
  const auto now = [] {
    timespec at{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &at);
    return static_cast<double>(at.tv_sec) + 1e-9 * static_cast<double>(at.tv_nsec);
  };
  const double start = now();
  work();
  return now() - start;
}

/// Returns one value per work: its speed divided by the speed of a memcpy right before it. It is
/// the median of several repeats, because other load on the machine changes. `bytes` is the number
/// of useful bytes of each work.
std::vector<double> over_memcpy(const std::vector<Work>& works,
                                const std::vector<std::int64_t>& bytes, Array& array,
                                Array& message) {
  std::vector<std::vector<double>> ratios(works.size());
  for (int i = 0; i < kRepeats; ++i) {
    for (std::size_t k = 0; k < works.size(); ++k) {
      const double plain = seconds([&] { std::memcpy(message.memory, array.memory, kBytes); });
      ratios[k].push_back(plain / seconds(works[k]) * static_cast<double>(bytes[k]) / kBytes);
    }
  }
  std::vector<double> medians;
  for (std::vector<double>& list : ratios) {
    std::nth_element(list.begin(), list.begin() + kRepeats / 2, list.end());
    medians.push_back(list[kRepeats / 2]);
  }
  return medians;
}

/// The loops that copy the runs of one receiver. The array has `rank` dimensions; its rows are
/// spread over all dimensions but the last.
std::vector<CopyLoop> column(std::int64_t run, std::int64_t receivers, std::int64_t element,
                             int rank) {
  std::int64_t rows = kBytes / (run * receivers);
  std::vector<CopyLoop> loops = {{run / element, element, element}};
  std::int64_t from = run * receivers, to = run;
  for (int d = rank; d > 2; --d) {
    loops.push_back({12, from, to});
    from *= 12;
    to *= 12;
    rows /= 12;
  }
  loops.push_back({rows, from, to});
  return loops;
}

/// The loops of the opposite direction: unpacking instead of packing.
std::vector<CopyLoop> reversed(std::vector<CopyLoop> loops) {
  for (CopyLoop& loop : loops) std::swap(loop.from, loop.to);
  return loops;
}

constexpr std::int64_t kLine = 64;

/// Computes the column `bound`, which the comment at the top explains. Runs begin `pitch` bytes
/// apart; the first one begins at a line boundary.
double bound_of_lines(bool unpack, std::int64_t run, std::int64_t pitch) {
  std::int64_t moved = 0;
  for (std::int64_t row = 0; row < kLine; ++row) {  // alignments repeat after kLine rows
    const std::int64_t begin = row * pitch, end = begin + run;
    const std::int64_t touched = (end + kLine - 1) / kLine - begin / kLine;
    const std::int64_t whole = std::max<std::int64_t>(0, end / kLine - (begin + kLine - 1) / kLine);
    moved += run + kLine * (unpack ? whole + 2 * (touched - whole) : touched);
  }
  return 2.0 * static_cast<double>(kLine * run) / static_cast<double>(moved);
}

#if defined(__x86_64__)
constexpr std::int64_t kAhead = 16 << 10;  ///< prefetch distance, in bytes of runs

/// The start of the first line that a run touches, and the end of the last one.
std::byte* first_line(std::byte* run) {
  return run - reinterpret_cast<std::uintptr_t>(run) % kLine;
}
std::byte* end_line(std::byte* end) { return first_line(end + kLine - 1); }

struct Runs {
  std::byte* array = nullptr;
  std::int64_t pitch = 0, run = 0, rows = 0;
  std::byte* message = nullptr;
};

__attribute__((target("avx2"))) void stream_line(std::byte* line, __m256i value) {
  _mm256_stream_si256(reinterpret_cast<__m256i*>(line), value);
  _mm256_stream_si256(reinterpret_cast<__m256i*>(line + 32), value);
}
__attribute__((target("avx2"))) __m256i line_at(const std::byte* line) {
  const auto* words = reinterpret_cast<const __m256i*>(line);
  return _mm256_xor_si256(_mm256_loadu_si256(words), _mm256_loadu_si256(words + 1));
}

/// The column `lines` for packing: reads all lines of the runs, and writes as many bytes as the
/// runs have, in whole lines.
__attribute__((target("avx2"))) void read_lines(const Runs& runs) {
  const std::int64_t ahead = kAhead / runs.run * runs.pitch;
  __m256i value = _mm256_setzero_si256();
  std::int64_t written = 0;
  for (std::int64_t i = 0; i < runs.rows; ++i) {
    std::byte* row = runs.array + i * runs.pitch;
    for (std::byte* at = first_line(row); at < end_line(row + runs.run); at += kLine) {
      _mm_prefetch(reinterpret_cast<const char*>(at + ahead), _MM_HINT_T1);
      value = _mm256_xor_si256(value, line_at(at));
    }
    for (; written + kLine <= (i + 1) * runs.run; written += kLine) {
      stream_line(runs.message + written, value);
    }
  }
  _mm_sfence();
}

/// The column `lines` for unpacking: reads as many bytes as the runs have, and writes all lines of
/// the runs; lines inside of one run are written past the cache.
__attribute__((target("avx2"))) void write_lines(const Runs& runs) {
  const std::int64_t ahead = (1 + (2 << 10) / runs.run) * runs.pitch;
  for (std::int64_t i = 0; i < runs.rows; ++i) {
    std::byte *row = runs.array + i * runs.pitch, *end = row + runs.run;
    if (first_line(row) != row) __builtin_prefetch(row + ahead, 1, 3);
    if (first_line(end) != end) __builtin_prefetch(end + ahead, 1, 3);
    const std::byte* from = runs.message + i * runs.run;
    for (std::byte* at = first_line(row); at < end_line(end); at += kLine, from += kLine) {
      const __m256i value = line_at(from);
      if (at >= row && at + kLine <= end) {
        stream_line(at, value);
      } else {
        _mm256_store_si256(reinterpret_cast<__m256i*>(at), value);
        _mm256_store_si256(reinterpret_cast<__m256i*>(at + 32), value);
      }
    }
  }
  _mm_sfence();
}
#endif

struct Ways {
  double one, each, together, lines;
};

Ways measure(bool unpack, std::int64_t run, std::int64_t receivers, std::int64_t element, int rank,
             Array& array, Array& message) {
  const std::vector<CopyLoop> loops = column(run, receivers, element, rank);
  const StridedCopy copy(unpack ? reversed(loops) : loops, element);
  std::vector<CopyJob> jobs;
  for (std::int64_t i = 0; i < receivers; ++i) {
    std::byte *part = array.memory + i * run, *packed = message.memory + i * copy.bytes();
    jobs.push_back(unpack ? CopyJob{&copy, packed, part} : CopyJob{&copy, part, packed});
  }
  const auto one = [&] { copy.run(jobs[0].from, jobs[0].to); };
  const auto each = [&] {
    for (const CopyJob& job : jobs) copy.run(job.from, job.to);
  };
  const auto together = [&] { run_together(jobs); };
  const std::int64_t part = copy.bytes(), all = receivers * part;
  std::vector<Work> works = {one, each, together};
#if defined(__x86_64__)
  const Runs runs{array.memory, run * receivers, run, part / run, message.memory};
  const auto lines = [&] { unpack ? write_lines(runs) : read_lines(runs); };
  if (run % kLine != 0 && run < 4096 && __builtin_cpu_supports("avx2") != 0) works.push_back(lines);
#endif
  const auto ratios = over_memcpy(works, {part, all, all, part}, array, message);
  return {ratios[0], ratios[1], ratios[2], ratios.size() > 3 ? ratios[3] : 0};
}

}  // namespace

int main() {
  Array array(kBytes + 4096), message(kBytes + 4096);
  bool holds = true;
  std::printf("%6s %5s %9s %7s %4s %6s %6s %6s %6s %6s %8s\n", "", "run", "receivers", "element",
              "rank", "one", "bound", "of it", "lines", "each", "together");
  const auto line = [&](std::int64_t run, std::int64_t receivers, std::int64_t element, int rank) {
    for (const bool unpack : {false, true}) {
      const Ways ways = measure(unpack, run, receivers, element, rank, array, message);
      const bool good = run < 64 || ways.together >= 0.8;
      holds = holds && good;
      const double bound = bound_of_lines(unpack, run, run * receivers);
      char lines[8] = "-";
      if (ways.lines > 0) std::snprintf(lines, sizeof lines, "%.2f", ways.lines);
      std::printf("%6s %5ld %9ld %7ld %4d %6.2f %6.2f %6.2f %6s %6.2f %8.2f",
                  unpack ? "unpack" : "pack", static_cast<long>(run), static_cast<long>(receivers),
                  static_cast<long>(element), rank, ways.one, bound,
                  ways.one / std::min(1.0, bound), lines, ways.each, ways.together);
      std::printf("%s\n", good ? "" : "  below the limit");
    }
  };
  for (const std::int64_t receivers : {2, 8}) {
    for (const std::int64_t run : {16, 32, 64, 80, 128, 240, 512, 2048, 8192, 65536}) {
      line(run, receivers, 4, 2);
    }
  }
  for (const std::int64_t element : {1, 2, 8, 16}) {
    for (const std::int64_t run : {64, 80}) line(run, 4, element, 2);
  }
  for (const int rank : {3, 5}) {
    for (const std::int64_t run : {64, 80, 512}) line(run, 4, 2, rank);
  }
  return holds ? 0 : 1;
}
