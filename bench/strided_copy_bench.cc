// SPDX-License-Identifier: Apache-2.0
// How fast boxes are packed and unpacked, as a part of what memcpy makes of as many bytes in the
// same minute. The bar: 80 % for runs of 64 bytes and more.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "weft/reshard/strided_copy.h"

namespace {

using weft::reshard::CopyLoop;
using weft::reshard::StridedCopy;

constexpr std::int64_t kBytes = 64 << 20;
constexpr int kRepeats = 9;

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

template <class Work>
double seconds(const Work& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + kRepeats / 2, values.end());
  return values[kRepeats / 2];
}

struct Ratio {
  double pack, unpack;
};

/// Half of each row of an array, to a message and back; memcpy takes turns with both.
Ratio measure(std::int64_t run, std::int64_t element, Array& array, Array& message) {
  const std::int64_t count = kBytes / run;
  const StridedCopy pack({{count, 2 * run, run}, {run / element, element, element}}, element);
  const StridedCopy unpack({{count, run, 2 * run}, {run / element, element, element}}, element);
  std::vector<double> plain, packed, unpacked;
  for (int i = 0; i < kRepeats; ++i) {
    plain.push_back(seconds([&] { std::memcpy(message.memory, array.memory, kBytes); }));
    packed.push_back(seconds([&] { pack.run(array.memory, message.memory); }));
    unpacked.push_back(seconds([&] { unpack.run(message.memory, array.memory); }));
  }
  const double bytes = static_cast<double>(pack.bytes()) / kBytes;
  return {bytes * median(plain) / median(packed), bytes * median(plain) / median(unpacked)};
}

}  // namespace

int main() {
  Array array(2 * kBytes + 4096), message(2 * kBytes);
  std::vector<double> plain;
  for (int i = 0; i < kRepeats; ++i) {
    plain.push_back(seconds([&] { std::memcpy(message.memory, array.memory, kBytes); }));
  }
  std::printf("memcpy of 64 MiB: %.1f GB/s\n", kBytes / median(plain) / 1e9);
  std::printf("%8s %8s %8s %8s\n", "run", "element", "pack", "unpack");
  bool holds = true;
  for (const std::int64_t element : {1, 2, 4, 8, 16}) {
    for (const std::int64_t run : {64, 80, 128, 240, 512, 2048, 8192, 65536}) {
      const Ratio ratio = measure(run, element, array, message);
      const bool good = std::min(ratio.pack, ratio.unpack) >= 0.8;
      holds = holds && good;
      std::printf("%8ld %8ld %8.2f %8.2f%s\n", static_cast<long>(run), static_cast<long>(element),
                  ratio.pack, ratio.unpack, good ? "" : "  below 0.80");
    }
  }
  return holds ? 0 : 1;
}
