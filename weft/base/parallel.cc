// SPDX-License-Identifier: Apache-2.0
#include "weft/base/parallel.h"

#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <thread>

namespace weft {
namespace {

// A global variable, because the number of threads is a setting of the whole process (--threads).
std::atomic<std::size_t> thread_limit{0};

}  // namespace

void set_max_threads(std::size_t n) { thread_limit = n; }

std::size_t max_threads() {
  const std::size_t limit = thread_limit;
  if (limit != 0) return limit;
  const unsigned cores = std::thread::hardware_concurrency();
  return cores == 0 ? 1 : cores;
}

void parallel_for(std::size_t n, const std::function<void(std::size_t)>& body) {
  const std::size_t threads = std::min(max_threads(), n);
  // A single thread needs no scheduler.
  if (threads <= 1) {
    for (std::size_t i = 0; i < n; ++i) body(i);
    return;
  }
  // oneTBB prints a warning if more threads are requested than there are cores. This object
  // prevents that.
  const tbb::global_control allow(tbb::global_control::max_allowed_parallelism, threads);
  // A separate arena limits the number of threads even if the caller runs in a larger arena.
  tbb::task_arena arena(static_cast<int>(threads));
  arena.execute([&] {
    tbb::parallel_for(tbb::blocked_range<std::size_t>(0, n), [&](const auto& range) {
      for (std::size_t i = range.begin(); i != range.end(); ++i) body(i);
    });
  });
}

}  // namespace weft
