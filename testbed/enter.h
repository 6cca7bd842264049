// SPDX-License-Identifier: Apache-2.0
// Moves a process to a host of a cluster: network, host name, clock, cores and CPU time.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "testbed/cluster.h"
#include "weft/base/result.h"

namespace weft::testbed {

/// What a process needs to move to a host. Make it before fork(), because little is allowed between
/// fork() and exec().
struct Place {
  std::string net_namespace;  ///< the file under /run/netns that stands for the namespace
  std::string host_name;
  std::string hosts_file;
  std::string shared_memory;
  std::string cpu_group;  ///< the cgroup.procs file of the host's group; empty: no limit
  std::vector<int> pinned_to;
};

Place place_of(const Cluster& cluster, const Host& host);

/// Moves this process to the host. Its present child processes stay where they are. Returns false
/// if the kernel refuses: then errno has the reason, and `step` says which action failed.
bool enter(const Place& place, const char*& step);

/// The environment variables that make the clock of a process wrong; none if `clock` is correct.
/// `preloaded` is the present value of LD_PRELOAD. Returns an Error (kUnavailable) if libfaketime
/// is not installed.
Result<std::map<std::string, std::string>> clock_environment(const Clock& clock,
                                                             const std::string& preloaded);

/// The environment of this process for exec(), as "NAME=value". The variables in `set` replace
/// variables of this process. A variable in `defaults` is used only if this process does not have
/// it.
std::vector<std::string> merged_environment(const std::map<std::string, std::string>& set,
                                            const std::map<std::string, std::string>& defaults);

/// Moves this process to the host with index `host` and replaces it by `command`. Returns only if
/// that fails.
tl::unexpected<Error> execute_on(const Cluster& cluster, std::size_t host,
                                 const std::vector<std::string>& command);

}  // namespace weft::testbed
