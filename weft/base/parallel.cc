// SPDX-License-Identifier: Apache-2.0
#include "weft/base/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

// The thread sanitizer cannot see how oneTBB orders its threads, because the oneTBB of the Linux
// distribution is not built with the sanitizer. It would report correct work items as data races,
// and a suppression would also hide true data races in them. So builds with the thread sanitizer
// use plain threads.
#ifdef __SANITIZE_THREAD__
#define WEFT_PLAIN_THREADS 1
#else
#define WEFT_PLAIN_THREADS 0
#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#endif

namespace weft {
namespace {

// A global variable, because the number of threads is a setting of the whole process (--threads).
std::atomic<std::size_t> thread_limit{0};

#if WEFT_PLAIN_THREADS

void run_on_threads(std::size_t threads, std::size_t n,
                    const std::function<void(std::size_t)>& body) {
  std::atomic<std::size_t> next{0};
  std::mutex mutex;  // protects `error`
  std::exception_ptr error;
  const auto work = [&] {
    // The order is relaxed, because a stronger order would also order the work items, and the
    // sanitizer would overlook data races between them.
    for (std::size_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < n;) {
      try {
        body(i);
      } catch (...) {
        next.store(n, std::memory_order_relaxed);
        const std::lock_guard lock(mutex);
        if (!error) error = std::current_exception();
      }
    }
  };
  {
    std::vector<std::jthread> workers;
    for (std::size_t t = 1; t < threads; ++t) workers.emplace_back(work);
    work();
  }
  if (error) std::rethrow_exception(error);
}

#else

void run_on_threads(std::size_t threads, std::size_t n,
                    const std::function<void(std::size_t)>& body) {
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

#endif

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
  run_on_threads(threads, n, body);
}

}  // namespace weft
