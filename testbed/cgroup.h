// SPDX-License-Identifier: Apache-2.0
// Limits the CPU time of hosts with the cpu controller of cgroups. Uses version 1 of cgroups if its
// cpu controller is mounted, else version 2. Each host with a limit has a group; a host without
// limit needs no group.
#pragma once

#include <optional>
#include <string>

#include "testbed/cluster.h"
#include "weft/base/result.h"

namespace weft::testbed {

struct CpuController {
  std::string root;  ///< the folder at which the controller is mounted
  int version = 1;
};

/// The controller in `mounts`, the content of /proc/mounts; nullopt if there is none.
std::optional<CpuController> find_cpu_controller(const std::string& mounts);

/// In each period of this length, a host gets its quota of CPU time. The kernel's default period of
/// 100 ms is too long: a host of half speed would run for 50 ms and then stand still for 50 ms,
/// which is longer than many steps.
inline constexpr int kCpuPeriodUs = 10'000;
/// Microseconds of CPU time that all processes of the host together get per period; 0: no limit.
std::int64_t cpu_quota_us(const Host& host);

/// The folder of the host's group.
std::string cpu_group(const CpuController& controller, const std::string& cluster,
                      const std::string& host);
/// Makes the group of the host, or changes its limit. If the host has no limit, no group is made,
/// and the limit of an existing group is removed.
Status limit_cpu(const CpuController& controller, const Cluster& cluster, const Host& host);
/// Removes the groups of all hosts of the cluster. Fails if a process is still in one of them.
Status remove_cpu_groups(const CpuController& controller, const std::string& cluster);

}  // namespace weft::testbed
