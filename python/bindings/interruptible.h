// SPDX-License-Identifier: Apache-2.0
// Runs long library calls from Python without the GIL, so that Ctrl-C can interrupt them.
#pragma once

#include <atomic>
#include <functional>

namespace weft::python {

/// Runs `work` on another thread without the GIL, while the calling thread checks for signals. The
/// caller must hold the GIL. Two threads are needed because Python runs signal handlers only on its
/// main thread, whereas the library calls its progress callbacks from worker threads.
/// If a signal handler raises an exception, this function sets `cancel`, waits for `work` to
/// return, and lets the Python exception continue. Otherwise it rethrows any exception of `work`.
void run_interruptible(const std::function<void(const std::atomic<bool>& cancel)>& work);

}  // namespace weft::python
