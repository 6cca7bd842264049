// SPDX-License-Identifier: Apache-2.0
// Collects which processes have to be woken, so that they are woken together after small chunks.
#pragma once

#include <vector>

#include "weft/reshard/execute/shared/shared_segment.h"

namespace weft::reshard::execute {

class Wakeups {
 public:
  /// Keeps the reference.
  explicit Wakeups(const SharedSegment& segment) : segment_(segment) {}

  /// The device is woken by the next wake(), if it sleeps and waits for `what`.
  void add(Device device, SharedSegment::WaitFor what) { waiting_.push_back({device, what}); }
  /// Notes that `bytes` bytes were copied. After a long copy it wakes at once instead of waiting
  /// for more.
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
  /// Bytes copied in about the time that it takes to wake a process.
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
