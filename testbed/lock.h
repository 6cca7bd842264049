// SPDX-License-Identifier: Apache-2.0
// A file that a process holds as long as it lives. The kernel lets go of it when the process ends,
// however it ends, so a lock that can be taken proves that its holder is gone.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "weft/base/result.h"

namespace weft::testbed {

class Lock {
 public:
  /// Makes the file if need be, and waits until nobody else holds it.
  static Result<Lock> wait_for(const std::string& path);
  /// nullopt if somebody else holds it.
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
