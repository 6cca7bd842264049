// SPDX-License-Identifier: Apache-2.0
// read_bench FILE...: measures speed and memory of reading a trace file on one core. Prints
// megabytes of uncompressed JSON per second of CPU time (decompression included), and how many
// bytes the peak memory grows per byte of JSON. The peak is that of the whole process, so give only
// one file if you need a reliable memory figure.
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <string>

#include "weft/base/diagnostics.h"
#include "weft/base/file.h"
#include "weft/trace/reader.h"

namespace {

using Clock = std::chrono::steady_clock;

/// The peak of this process's resident set so far (VmHWM), in bytes.
long long peak_memory() {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word) {
    if (word == "VmHWM:") {
      long long kilobytes = 0;
      status >> kilobytes;
      return kilobytes * 1024;
    }
  }
  return 0;
}

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

int fail(const weft::Error& error) {
  std::fprintf(stderr, "%s\n", error.text().c_str());
  return 3;
}

int bench(const std::string& path) {
  using namespace weft;
  long long json_bytes = 0;
  const trace::Reader* reader = nullptr;
  {
    // A first pass without parsing finds the size of the JSON and its format. It also brings the
    // file into the page cache, so that the measured pass does not wait for the disk.
    auto source = open_file(path);
    if (!source) return fail(source.error());
    std::string window(256u << 10, '\0');
    for (;;) {
      auto got = (*source)->read(window.data(), window.size());
      if (!got) return fail(got.error());
      if (*got == 0) break;
      if (json_bytes == 0) {
        int best = 0;
        for (const auto& candidate : trace::readers()) {
          const int sure =
              candidate->recognise({window.data(), std::min<std::size_t>(*got, 65536)});
          if (sure > best) {
            best = sure;
            reader = candidate.get();
          }
        }
      }
      json_bytes += static_cast<long long>(*got);
    }
  }
  if (reader == nullptr) {
    std::fprintf(stderr,
                 "%s: no reader recognises this format; `weft list readers` names the known ones\n",
                 path.c_str());
    return 3;
  }
  auto source = open_file(path);
  if (!source) return fail(source.error());
  Diagnostics diagnostics;
  const long long memory_before = peak_memory();
  const double cpu_before = cpu_seconds();
  const auto wall_before = Clock::now();
  const auto traces = reader->read(**source, {}, diagnostics);
  const double wall = std::chrono::duration<double>(Clock::now() - wall_before).count();
  const double cpu = cpu_seconds() - cpu_before;
  const long long memory = peak_memory() - memory_before;
  if (!traces) return fail(traces.error());
  std::size_t events = 0;
  for (const trace::RankTrace& rank : *traces) events += rank.events.size();
  const double megabytes = static_cast<double>(json_bytes) * 1e-6;
  std::printf(
      "%s: %.1f MB of JSON, %zu events, %.0f MB/s per core (%.0f ms of CPU time, %.0f ms of "
      "wall time), %.3f bytes of memory per byte of JSON\n",
      path.c_str(), megabytes, events, megabytes / cpu, cpu * 1e3, wall * 1e3,
      static_cast<double>(memory) / static_cast<double>(json_bytes));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: read_bench FILE...\n");
    return 2;
  }
  for (int i = 1; i < argc; ++i) {
    if (const int rc = bench(argv[i]); rc != 0) return rc;
  }
  return 0;
}
