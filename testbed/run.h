// SPDX-License-Identifier: Apache-2.0
// Runs the processes of a job on a cluster that is up. All processes end with the run, even if Weft
// is killed: they live in a process namespace that the kernel clears when this process ends.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "testbed/cluster.h"
#include "testbed/job.h"
#include "weft/base/result.h"

namespace weft::testbed {

struct RunOptions {
  /// How long the other processes may go on after a process has failed. Also how long services may
  /// go on after all other processes are done. Then they get SIGTERM, and five seconds later
  /// SIGKILL.
  Nanos grace = 5 * kSecond;
  /// Called with each complete line as it comes; `is_error` if it was written to stderr.
  std::function<void(const std::string& label, bool is_error, std::string_view line)> line = {};
  /// Returns how often the user has pressed Ctrl-C. After the first Ctrl-C all processes get
  /// SIGTERM, after the second SIGKILL.
  std::function<int()> interrupts = {};
};

struct Outcome {
  /// The exit status of the process that failed first, or 128 + N if signal N ended this process; 0
  /// if no process failed.
  int status = 0;
  std::string failed;  ///< the label of the process that failed first
};

Result<Outcome> run_job(const Cluster& cluster, const Job& job, const RunOptions& options);

}  // namespace weft::testbed
