// SPDX-License-Identifier: Apache-2.0
// Collects the processes that have to be woken. After several small chunks, it wakes all collected
// processes together.
#pragma once

#include <vector>

#include "weft/reshard/execute/shared/shared_segment.h"

namespace weft::reshard::execute {

class Wakeups {
 public:
  /// Keeps a reference to `segment`.
  explicit Wakeups(const SharedSegment& segment) : segment_(segment) {}

  /// Adds a device. The next wake() wakes it, if it sleeps and waits for `what`.
  void add(Device device, SharedSegment::WaitFor what) { waiting_.push_back({device, what}); }
  /// Notes that `bytes` bytes were copied. After kLong bytes it wakes the collected processes at
  /// once.
  void note(Bytes bytes) {
    copied_ += bytes;
    if (copied_ >= kLong) wake();
  }
  void wake() {
    copied_ = 0;
    if (waiting_.empty()) return;
    SharedSegment::fence_before_wakes();
    for (const auto& [device, what] : waiting_) segment_.wake(device, what);
    waiting_.clear();
  }

 private:
  /// The number of bytes that can be copied in about the time that it takes to wake a process.
  static constexpr Bytes kLong = 16 << 10;
  struct Waiting {
    Device device;
    SharedSegment::WaitFor what;
  };
  const SharedSegment& segment_;
  std::vector<Waiting> waiting_;
  Bytes copied_ = 0;
};

}  // namespace weft::reshard::execute
