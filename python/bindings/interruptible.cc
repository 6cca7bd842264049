// SPDX-License-Identifier: Apache-2.0
#include "python/bindings/interruptible.h"

#include <nanobind/nanobind.h>

#include <chrono>
#include <future>

namespace weft::python {
namespace {

namespace nb = nanobind;
/// How often the calling thread looks for signals. A result that is ready ends the wait at once.
constexpr std::chrono::milliseconds kSignalInterval{50};

}  // namespace

void run_interruptible(const std::function<void(const std::atomic<bool>& cancel)>& work) {
  std::atomic<bool> cancel{false};
  std::future<void> done = std::async(std::launch::async, [&] { work(cancel); });
  bool signalled = false;
  for (bool ready = false; !ready;) {
    {
      const nb::gil_scoped_release release;
      ready = done.wait_for(kSignalInterval) == std::future_status::ready;
    }
    // Keep waiting after a signal: `work` uses variables of the caller until it returns.
    if (!signalled && PyErr_CheckSignals() != 0) {
      signalled = true;
      cancel = true;
    }
  }
  if (signalled) throw nb::python_error();
  done.get();
}

}  // namespace weft::python
