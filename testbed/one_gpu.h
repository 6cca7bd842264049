// SPDX-License-Identifier: Apache-2.0
// Several NCCL ranks on one GPU. NCCL refuses two ranks on a device only if both claim the same
// host; each host of the description therefore gets its own host id, and shared memory and peer
// access are switched off, so that gradients cross sockets. CUDA's multi-process service lets
// their kernels run side by side, each rank with its share of the GPU.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <utility>

#include "testbed/cluster.h"
#include "weft/base/result.h"

namespace weft::testbed {

/// What a rank on that host needs on top of the style's variables, but for the service.
std::map<std::string, std::string> one_gpu_environment(const Cluster& cluster, std::size_t host,
                                                       int world);

/// The daemon of the multi-process service, as long as the object lives. A process of its own stops
/// it, also where this one is killed. It speaks through a folder of its own, so that other jobs on
/// the GPU do not meet it.
class MpsDaemon {
 public:
  /// An Error of kUnavailable if it is not installed or refuses.
  static Result<MpsDaemon> start();
  MpsDaemon(MpsDaemon&& other) noexcept;
  MpsDaemon& operator=(MpsDaemon&&) = delete;
  ~MpsDaemon();

  /// Variables by which ranks find it.
  std::map<std::string, std::string> environment() const;

 private:
  explicit MpsDaemon(std::string folder) : folder_(std::move(folder)) {}

  std::string folder_;
  pid_t stopper_ = -1;
  int lifeline_ = -1;  ///< the stopper goes to work when the other end of this pipe is closed
};

}  // namespace weft::testbed
