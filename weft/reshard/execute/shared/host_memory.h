// SPDX-License-Identifier: Apache-2.0
// Memory that processes of one host share and find by a name.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include "weft/base/result.h"
#include "weft/base/units.h"

namespace weft::reshard::execute {

class HostMemory {
 public:
  /// Creates memory that is filled with 0 and already allocated: an Error (kUnavailable) if the
  /// host has not that much left to share.
  static Result<HostMemory> create(Bytes bytes);
  /// Opens memory that another process has created and not yet made private. An Error
  /// (kUnavailable) if there is none of that name, for example on another host.
  static Result<HostMemory> open(const std::string& name);

  HostMemory(HostMemory&& other) noexcept { swap(other); }
  HostMemory& operator=(HostMemory&& other) noexcept {
    swap(other);
    return *this;
  }
  /// Unmaps it here. Other processes keep their mappings.
  ~HostMemory();

  std::byte* data() const { return data_; }
  Bytes bytes() const { return bytes_; }
  const std::string& name() const { return name_; }
  /// From now on nobody else can open it, and it is freed with the last process that has it mapped.
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
  bool named_ = false;  ///< created here and not yet private
};

/// Asks the kernel for all pages of memory that was never touched and will be written, which is
/// cheaper than one page fault per page. Does nothing on kernels that cannot do that.
void fault_in(std::byte* memory, Bytes bytes);

}  // namespace weft::reshard::execute
