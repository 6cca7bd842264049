// SPDX-License-Identifier: Apache-2.0
// Runs several NCCL ranks on one GPU. NCCL refuses two ranks on one device only if both have the
// same host id. So each host of the description gets its own host id, and shared memory and peer
// access are disabled, so that gradients pass through sockets. CUDA's multi-process service (MPS)
// lets kernels of different ranks run at the same time, each rank with a share of the GPU.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <utility>

#include "testbed/cluster.h"
#include "weft/base/result.h"

namespace weft::testbed {

/// The environment variables that a rank on this host needs, without the variables of the style of
/// the job and without MpsDaemon::environment().
std::map<std::string, std::string> one_gpu_environment(const Cluster& cluster, std::size_t host,
                                                       int world);

/// Runs the MPS daemon while this object exists. A separate process (the "stopper") stops the
/// daemon, so that it also stops if Weft is killed. The daemon has its own folder for pipes, so
/// that other jobs on the GPU do not connect to it.
class MpsDaemon {
 public:
  /// An Error of kUnavailable if MPS is not installed or does not start.
  static Result<MpsDaemon> start();
  MpsDaemon(MpsDaemon&& other) noexcept;
  MpsDaemon& operator=(MpsDaemon&&) = delete;
  ~MpsDaemon();

  /// The variables through which ranks find the daemon.
  std::map<std::string, std::string> environment() const;

 private:
  explicit MpsDaemon(std::string folder) : folder_(std::move(folder)) {}

  std::string folder_;
  pid_t stopper_ = -1;
  int lifeline_ = -1;  ///< write end of a pipe; when it is closed, the stopper stops the daemon
};

}  // namespace weft::testbed
