// SPDX-License-Identifier: Apache-2.0
// Which processes a job has, on which hosts, and with which variables in their environment: what
// torchrun, ps-lite's and TensorFlow's launchers would set up. Nothing here touches the machine.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "testbed/cluster.h"
#include "weft/base/result.h"

namespace weft::testbed {

enum class Style {
  kPlain,       ///< nothing but the host
  kTorch,       ///< RANK, WORLD_SIZE, MASTER_ADDR ...
  kMpi,         ///< one mpirun, which starts the ranks
  kPs,          ///< ps-lite: a scheduler, servers and workers, told by DMLC_*
  kTensorflow,  ///< TF_CONFIG: workers alone, or a chief, workers and parameter servers
};

/// "torch"; an Error of kUsage for other names.
Result<Style> parse_style(const std::string& name);
std::vector<std::string> style_names();

struct JobOptions {
  Style style = Style::kTorch;
  int per_host = 1;  ///< ranks (workers) on each host
  int servers = 0;   ///< kPs, kTensorflow: parameter servers, spread over the hosts
  /// Hosts for the servers alone, by name; empty: all hosts, beside the workers.
  std::vector<std::string> server_hosts = {};
  std::vector<std::string> command = {};  ///< {rank}, {world}, {host} and {address} are replaced
};

using Environment = std::map<std::string, std::string>;

struct Process {
  std::string label;  ///< "r0", "server1", "scheduler", "chief": what its lines begin with
  std::size_t host = 0;
  std::vector<std::string> command;
  Environment environment;  ///< to be set in addition
  Environment defaults;     ///< to be set unless the user's environment has them
  /// Serves the others, and is ended once those have done their work.
  bool is_service = false;
};

struct Job {
  std::vector<Process> processes;
  int world = 0;            ///< ranks
  bool tags_lines = false;  ///< lines of all ranks come from one process, tagged as mpirun does
};

/// Options that do not fit together are Errors of kUsage.
Result<Job> plan_job(const Cluster& cluster, const JobOptions& options);

}  // namespace weft::testbed
