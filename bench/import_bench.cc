// SPDX-License-Identifier: Apache-2.0
// import_bench FILE...: measures the whole import on one core: read the files, match collectives,
// align clocks, and build the graph of the job. Prints one line of name=value pairs, which
// bench/compare_hta.py reads: processor time in seconds (wall time would count other programs on
// the machine), the peak memory of the process, and its memory before the import, in bytes.
#include <cstdio>
#include <ctime>
#include <fstream>
#include <string>
#include <vector>

#include "weft/base/parallel.h"
#include "weft/predict/job.h"

namespace {

/// The value of a line of /proc/self/status, in bytes. The line VmHWM has the largest size of the
/// resident set so far, and the line VmRSS has its current size.
long long memory(const std::string& field) {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word) {
    if (word != field + ":") continue;
    long long kilobytes = 0;
    status >> kilobytes;
    return kilobytes * 1024;
  }
  return 0;
}

double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: import_bench FILE...\n");
    return 2;
  }
  // HTA and Python's json run on one core, so the comparison allows Weft one thread.
  weft::set_max_threads(1);
  const std::vector<std::string> inputs(argv + 1, argv + argc);
  const long long before = memory("VmRSS");
  const double begin = cpu_seconds();
  weft::Diagnostics diagnostics;
  auto recording = weft::trace::load(inputs, {}, diagnostics);
  if (!recording) {
    std::fprintf(stderr, "%s\n", recording.error().text().c_str());
    return 3;
  }
  const double read = cpu_seconds();
  const auto job = weft::predict::make_job(std::move(*recording), diagnostics);
  if (!job) {
    std::fprintf(stderr, "%s\n", job.error().text().c_str());
    return 3;
  }
  std::printf(
      "seconds=%.6f read_seconds=%.6f peak_bytes=%lld before_bytes=%lld ranks=%zu ops=%zu\n",
      cpu_seconds() - begin, read - begin, memory("VmHWM"), before, job->run.ranks.size(),
      job->graph.size());
  return 0;
}
