// SPDX-License-Identifier: Apache-2.0
// Long library calls from Python: the GIL is free while they run, and Ctrl-C ends them.
#pragma once

#include <atomic>
#include <functional>

namespace weft::python {

/// Runs `work` on a thread of its own without the GIL, while this thread (which holds it) looks for
/// signals: Python hands signals to its main thread only, and library callbacks come from others.
/// On a signal whose handler raises, `cancel` is set, the work is awaited, and the Python exception
/// continues. Exceptions of the work are passed on.
void run_interruptible(const std::function<void(const std::atomic<bool>& cancel)>& work);

}  // namespace weft::python
