// SPDX-License-Identifier: Apache-2.0
// Becoming a process of a host: its network, name, clock, cores and CPU time.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "testbed/cluster.h"
#include "weft/base/result.h"

namespace weft::testbed {

/// All that a process must know to move to a host, made before it starts.
struct Place {
  std::string net_namespace;  ///< file that stands for it
  std::string host_name;
  std::string hosts_file;
  std::string shared_memory;
  std::string cpu_group;  ///< file that takes the process; empty: no limit
  std::vector<int> pinned_to;
};

Place place_of(const Cluster& cluster, const Host& host);

/// Moves this process there. What was started before stays where it is. False if the kernel
/// refuses, with errno and what was tried in `step`.
bool enter(const Place& place, const char*& step);

/// Variables that turn the clock of a host; none for a true clock. `preloaded` is what LD_PRELOAD
/// holds already. An Error of kUnavailable where libfaketime is missing.
Result<std::map<std::string, std::string>> clock_environment(const Clock& clock,
                                                             const std::string& preloaded);

/// `environment` of this process, with `set` on top, as exec takes it: "NAME=value".
std::vector<std::string> merged_environment(const std::map<std::string, std::string>& set,
                                            const std::map<std::string, std::string>& defaults);

/// Becomes `command` on that host. Returns only if that fails.
tl::unexpected<Error> execute_on(const Cluster& cluster, std::size_t host,
                                 const std::vector<std::string>& command);

}  // namespace weft::testbed
