// SPDX-License-Identifier: Apache-2.0
// A lock file that a process holds while it lives. The kernel releases the lock when the process
// ends, even if it is killed. So if the lock can be taken, its former holder is gone.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "weft/base/result.h"

namespace weft::testbed {

class Lock {
 public:
  /// Makes the file unless it exists, and waits until no other process holds the lock.
  static Result<Lock> wait_for(const std::string& path);
  /// Makes the file unless it exists. nullopt if another process holds the lock.
  static Result<std::optional<Lock>> try_take(const std::string& path);

  Lock(Lock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Lock& operator=(Lock&& other) noexcept;
  ~Lock() { release(); }

 private:
  explicit Lock(int descriptor) : descriptor_(descriptor) {}
  void release();

  int descriptor_;
};

}  // namespace weft::testbed
