// SPDX-License-Identifier: Apache-2.0
// Plans the processes of a job: on which hosts they run and which environment variables they get,
// as the launchers of torch, ps-lite and TensorFlow would set them. Nothing here changes the
// machine.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "testbed/cluster.h"
#include "weft/base/result.h"

namespace weft::testbed {

enum class Style {
  kPlain,       ///< no variables: ranks differ only by their host and their command
  kTorch,       ///< RANK, WORLD_SIZE, MASTER_ADDR ...
  kMpi,         ///< one mpirun, which starts the ranks
  kPs,          ///< ps-lite: DMLC_* variables for a scheduler, servers and workers
  kTensorflow,  ///< TF_CONFIG: only workers, or a chief, workers and parameter servers
};

/// The style with this name, such as "torch"; an Error of kUsage for an unknown name.
Result<Style> parse_style(const std::string& name);
std::vector<std::string> style_names();

struct JobOptions {
  Style style = Style::kTorch;
  int per_host = 1;  ///< number of ranks (workers) on each host
  int servers = 0;   ///< kPs, kTensorflow: number of parameter servers, spread over the hosts
  /// Names of the hosts that run only servers. If empty, servers run beside the workers on all
  /// hosts.
  std::vector<std::string> server_hosts = {};
  std::vector<std::string> command = {};  ///< {rank}, {world}, {host} and {address} are replaced
};

using Environment = std::map<std::string, std::string>;

struct Process {
  std::string label;  ///< the prefix of its lines: "r0", "server1", "scheduler", "chief"
  std::size_t host = 0;
  std::vector<std::string> command;
  Environment environment;  ///< variables to set, even if the user's environment has them
  Environment defaults;     ///< variables to set unless the user's environment has them
  /// The process serves others and does not end by itself. It is ended when all processes that are
  /// not services are done.
  bool is_service = false;
};

struct Job {
  std::vector<Process> processes;
  int world = 0;            ///< ranks
  bool tags_lines = false;  ///< one process (mpirun) prints the lines of all ranks, with tags
};

/// Plans the processes. Returns an Error (kUsage) if options contradict each other.
Result<Job> plan_job(const Cluster& cluster, const JobOptions& options);

}  // namespace weft::testbed
