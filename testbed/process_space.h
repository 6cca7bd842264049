// SPDX-License-Identifier: Apache-2.0
// A process namespace of the kernel: whatever is started in it, and whatever those start, ends when
// the namespace does; and that ends with this object, or with this process, even if it is killed.
#pragma once

#include <sys/types.h>

#include <utility>

#include "weft/base/result.h"

namespace weft::testbed {

class ProcessSpace {
 public:
  static Result<ProcessSpace> make();
  ProcessSpace(ProcessSpace&& other) noexcept;
  ProcessSpace& operator=(ProcessSpace&& other) noexcept;
  /// Everything in it is killed.
  ~ProcessSpace() { end(); }

  /// fork(2), with the child inside. It remains a child of this process.
  pid_t fork() const;

 private:
  ProcessSpace() = default;
  void end();

  pid_t keeper_ = -1;  ///< the first process inside; the namespace lives as long as it
  int lifeline_ = -1;  ///< the keeper goes when the other end of this pipe is closed
  int inside_ = -1;
  int outside_ = -1;
};

}  // namespace weft::testbed
