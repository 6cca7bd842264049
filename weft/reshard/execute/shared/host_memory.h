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
  /// Creates memory that is filled with 0. All of it is allocated at once. Returns an Error
  /// (kUnavailable) if the host has too little memory left to share.
  static Result<HostMemory> create(Bytes bytes);
  /// Opens memory that another process has created and not yet made private. Returns an Error
  /// (kUnavailable) if no memory has this name, for example because the process is on another host.
  static Result<HostMemory> open(const std::string& name);

  HostMemory(HostMemory&& other) noexcept { swap(other); }
  HostMemory& operator=(HostMemory&& other) noexcept {
    swap(other);
    return *this;
  }
  /// Unmaps the memory in this process. Other processes keep their mappings.
  ~HostMemory();

  std::byte* data() const { return data_; }
  Bytes bytes() const { return bytes_; }
  const std::string& name() const { return name_; }
  /// After this call no other process can open the memory. It is freed when the last process that
  /// has mapped it ends.
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

/// Asks the kernel for all pages of this memory at once. Use it for memory that was never touched
/// and will be written, because one page fault per page costs more. Does nothing if the kernel does
/// not offer this.
void fault_in(std::byte* memory, Bytes bytes);

}  // namespace weft::reshard::execute
