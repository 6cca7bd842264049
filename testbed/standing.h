// SPDX-License-Identifier: Apache-2.0
// Clusters that stand on this machine: making them, taking them down, finding them again. What is
// known about each lies in a folder of its own under kStateFolder; the folder is made before the
// first namespace and removed after the last, so nothing can be left behind that is not named
// there.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "testbed/cluster.h"
#include "testbed/lock.h"
#include "weft/base/result.h"

namespace weft::testbed {

inline constexpr const char* kStateFolder = "/run/weft-testbed";

/// An Error of kUnavailable that says what is missing, unless this process can make namespaces.
Status check_machine(const Cluster& cluster);

enum class Lifetime {
  kUntilTakenDown,
  kOfThisProcess,  ///< a leftover as soon as the process that made it is gone
};

struct Standing {
  Cluster cluster;
  Lifetime lifetime = Lifetime::kUntilTakenDown;
};

/// Makes the cluster, or nothing. Leftovers of processes that are gone are removed first. For
/// kOfThisProcess keep the lock as long as the cluster is needed.
Result<std::optional<Lock>> bring_up(const Cluster& cluster, Lifetime lifetime);
/// Rates and CPU time as `cluster` says, which must stand with the same hosts.
Status apply_settings(const Cluster& cluster);
/// Ends all processes of its hosts and removes everything. No such cluster: an Error of kNotFound.
Status take_down(const std::string& name);

/// Those that stand, by name, without leftovers, which are removed.
Result<std::vector<Standing>> standing_clusters();
/// nullopt if it does not stand.
Result<std::optional<Standing>> find_standing(const std::string& name);
/// For the time of a run: two at once would change each other's links. nullopt: somebody else has
/// it.
Result<std::optional<Lock>> reserve(const std::string& name);

/// Files of one cluster.
std::string hosts_path(const std::string& cluster);
std::string agent_path(const std::string& cluster);  ///< enters a host, as rsh would
/// Memory that is /dev/shm on that host: hosts do not share any.
std::string shared_memory_path(const std::string& cluster, const std::string& host);

}  // namespace weft::testbed
