// SPDX-License-Identifier: Apache-2.0
// Memory that processes of one host share, found by a name.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include "weft/base/result.h"
#include "weft/base/units.h"

namespace weft::reshard::execute {

class HostMemory {
 public:
  /// Zeroes, really there: an Error (kUnavailable) where the host has not so much left to share.
  static Result<HostMemory> create(Bytes bytes);
  /// What another process created, until it is made private. An Error (kUnavailable) where there is
  /// none of that name, as on another host.
  static Result<HostMemory> open(const std::string& name);

  HostMemory(HostMemory&& other) noexcept { swap(other); }
  HostMemory& operator=(HostMemory&& other) noexcept {
    swap(other);
    return *this;
  }
  /// Other processes keep theirs.
  ~HostMemory();

  std::byte* data() const { return data_; }
  Bytes bytes() const { return bytes_; }
  const std::string& name() const { return name_; }
  /// From now on nobody else can open it, and it ends with the last process that has it.
  void make_private();

 private:
  HostMemory() = default;
  Status map(int descriptor, Bytes bytes);
  void swap(HostMemory& other) {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    std::swap(name_, other.name_);
    std::swap(named_, other.named_);
  }

  std::byte* data_ = nullptr;
  Bytes bytes_ = 0;
  std::string name_;
  bool named_ = false;  ///< created here, and others can still open it
};

/// Memory that was never touched and will be written: the kernel gives its pages at once, which is
/// cheaper than one by one. Does nothing where it cannot.
void fault_in(std::byte* memory, Bytes bytes);

}  // namespace weft::reshard::execute
