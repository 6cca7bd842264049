// SPDX-License-Identifier: Apache-2.0
// Makes, finds and removes clusters on this machine. Each cluster has a folder under kStateFolder
// with its description. The folder is made before the first namespace of the cluster and removed
// after the last one, so a cluster that is only half made or half removed can still be found.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "testbed/cluster.h"
#include "testbed/lock.h"
#include "weft/base/result.h"

namespace weft::testbed {

inline constexpr const char* kStateFolder = "/run/weft-testbed";

/// Checks that this process can make the cluster: it must be root, and ip, tc, the cores and, if a
/// host has a limit, cgroups must be available. An Error (kUnavailable) says what is missing.
Status check_machine(const Cluster& cluster);

enum class Lifetime {
  kUntilTakenDown,
  kOfThisProcess,  ///< the cluster is a leftover when the process that made it has ended
};

/// A cluster that is up.
struct Standing {
  Cluster cluster;
  Lifetime lifetime = Lifetime::kUntilTakenDown;
};

/// Makes the cluster; if that fails, nothing remains. Leftovers of processes that have ended are
/// removed first. For kOfThisProcess, the caller must keep the lock while it needs the cluster.
Result<std::optional<Lock>> bring_up(const Cluster& cluster, Lifetime lifetime);
/// Sets rates and CPU time as in `cluster`, which must be up with the same hosts.
Status apply_settings(const Cluster& cluster);
/// Ends all processes on its hosts and removes the cluster, even if a run uses it. An Error of
/// kNotFound if there is no such cluster.
Status take_down(const std::string& name);

/// All clusters that are up, sorted by name. Removes leftovers.
Result<std::vector<Standing>> standing_clusters();
/// nullopt if the cluster is not up.
Result<std::optional<Standing>> find_standing(const std::string& name);
/// Reserves a cluster for one run, because two runs at once would change each other's links.
/// Returns nullopt if another run has reserved the cluster.
Result<std::optional<Lock>> reserve(const std::string& name);

std::string hosts_path(const std::string& cluster);  ///< path of the /etc/hosts that all hosts use
std::string agent_path(const std::string& cluster);  ///< a script that mpirun calls instead of rsh
/// The folder that is /dev/shm on that host; each host has its own shared memory.
std::string shared_memory_path(const std::string& cluster, const std::string& host);

}  // namespace weft::testbed
