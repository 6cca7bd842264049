// SPDX-License-Identifier: Apache-2.0
// How fast boxes are packed and unpacked, as a part of what memcpy makes of as many bytes of the
// same memory in the same minute. Useful bytes alone count on both sides.
//
// An array of 64 MiB is cut into columns, as for an all-to-all: every row has a run for each of
// several receivers. Three ways:
//   one        the runs of one receiver alone; what lies between them is fetched by the
//              hardware and not used, and lines that two runs share are fetched for a part
//   each       all receivers, one after the other: the whole array is used, once a receiver
//   together   all receivers with run_together(): the whole array is used, once
// The bar: 80 % for runs of 64 bytes and more, together. For unpacking runs of less than two lines
// that are not whole lines it is 70 %: lines that such runs share are read, changed and written, so
// that 3.8 bytes move for each where memcpy moves 3.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <vector>

#include "weft/reshard/strided_copy.h"

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

double seconds(const Work& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Speed of each work over that of memcpy just before it: the median, since neighbours on the
/// machine come and go. `bytes`: what each work moves.
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

/// The loops of one receiver's part of an array of `rank` dimensions, its rows dealt out to all but
/// the last of them.
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

std::vector<CopyLoop> turned(std::vector<CopyLoop> loops) {
  for (CopyLoop& loop : loops) std::swap(loop.from, loop.to);
  return loops;
}

struct Ways {
  double one, each, together;
};

Ways measure(bool unpack, std::int64_t run, std::int64_t receivers, std::int64_t element, int rank,
             Array& array, Array& message) {
  const std::vector<CopyLoop> loops = column(run, receivers, element, rank);
  const StridedCopy copy(unpack ? turned(loops) : loops, element);
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
  const std::int64_t all = receivers * copy.bytes();
  const auto ratios = over_memcpy({one, each, together}, {copy.bytes(), all, all}, array, message);
  return {ratios[0], ratios[1], ratios[2]};
}

}  // namespace

int main() {
  Array array(kBytes + 4096), message(kBytes + 4096);
  bool holds = true;
  std::printf("%6s %5s %9s %7s %4s %6s %6s %8s\n", "", "run", "receivers", "element", "rank", "one",
              "each", "together");
  const auto line = [&](std::int64_t run, std::int64_t receivers, std::int64_t element, int rank) {
    for (const bool unpack : {false, true}) {
      const Ways ways = measure(unpack, run, receivers, element, rank, array, message);
      const bool good = run < 64 || ways.together >= 0.8;
      holds = holds && good;
      std::printf("%6s %5ld %9ld %7ld %4d %6.2f %6.2f %8.2f%s\n", unpack ? "unpack" : "pack",
                  static_cast<long>(run), static_cast<long>(receivers), static_cast<long>(element),
                  rank, ways.one, ways.each, ways.together, good ? "" : "  below the bar");
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
