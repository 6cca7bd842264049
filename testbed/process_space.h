// SPDX-License-Identifier: Apache-2.0
// Makes a process (PID) namespace of the kernel. When the namespace ends, all processes in it end,
// and so do all processes that they have started. The namespace ends when this object is destroyed,
// and when this process ends, even if it is killed.
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
  /// Kills all processes in the namespace.
  ~ProcessSpace() { end(); }

  /// fork(2), with the child inside the namespace. The child remains a child of this process.
  pid_t fork() const;

 private:
  ProcessSpace() = default;
  void end();

  pid_t keeper_ = -1;  ///< the first process inside: when it ends, the namespace ends
  int lifeline_ = -1;  ///< write end of a pipe; when it is closed, the keeper ends
  int inside_ = -1;    ///< descriptor of the namespace
  int outside_ = -1;   ///< descriptor of the namespace that this process lives in
};

}  // namespace weft::testbed
