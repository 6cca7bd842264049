// SPDX-License-Identifier: Apache-2.0
// Who is to be told of letters that were written or taken. Small ones are told of together.
#pragma once

#include <vector>

#include "weft/reshard/execute/shared/neighbours.h"

namespace weft::reshard::execute {

class Rings {
 public:
  /// Keeps the reference.
  explicit Rings(const Neighbours& neighbours) : neighbours_(neighbours) {}

  /// To be told when this rings next.
  void add(Device device, Neighbours::Until what) { waiting_.push_back({device, what}); }
  /// So many bytes were copied meanwhile: what takes long is told of at once.
  void note(Bytes bytes) {
    copied_ += bytes;
    if (copied_ >= kLong) ring();
  }
  void ring() {
    copied_ = 0;
    if (waiting_.empty()) return;
    Neighbours::before_rings();
    for (const auto& [device, what] : waiting_) neighbours_.ring(device, what);
    waiting_.clear();
  }

 private:
  /// Copied in about the time that it takes to wake somebody.
  static constexpr Bytes kLong = 16 << 10;
  struct Waiting {
    Device device;
    Neighbours::Until what;
  };
  const Neighbours& neighbours_;
  std::vector<Waiting> waiting_;
  Bytes copied_ = 0;
};

}  // namespace weft::reshard::execute
