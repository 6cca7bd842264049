// SPDX-License-Identifier: Apache-2.0
// Runs the processes of a job on a cluster that stands, and ends them all, whatever happens: they
// live in a process namespace that the kernel clears when this process is gone.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "testbed/cluster.h"
#include "testbed/job.h"
#include "weft/base/result.h"

namespace weft::testbed {

struct RunOptions {
  /// After a process failed, the others have so long to notice; asked to end, they have so long.
  Nanos grace = 5 * kSecond;
  /// Complete lines as they come; `is_error` if written to stderr.
  std::function<void(const std::string& label, bool is_error, std::string_view line)> line = {};
  /// How often the user has asked to end it: the first time politely, then at once.
  std::function<int()> interrupts = {};
};

struct Outcome {
  int status = 0;      ///< of the process that failed first, as shells tell it; 0: none did
  std::string failed;  ///< its label
};

Result<Outcome> run_job(const Cluster& cluster, const Job& job, const RunOptions& options);

}  // namespace weft::testbed
