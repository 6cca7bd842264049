// SPDX-License-Identifier: Apache-2.0
// CPU time of hosts, limited by the kernel's cpu controller: version 1 where it is there, else
// version 2. A host without a limit has no group.
#pragma once

#include <optional>
#include <string>

#include "testbed/cluster.h"
#include "weft/base/result.h"

namespace weft::testbed {

struct CpuController {
  std::string root;  ///< folder of the controller
  int version = 1;
};

/// The controller of this machine, as /proc/mounts tells; nullopt where there is none.
std::optional<CpuController> find_cpu_controller(const std::string& mounts);

/// Microseconds of CPU time that a host gets in a period of kCpuPeriodUs; 0: no limit.
inline constexpr int kCpuPeriodUs = 10'000;  // a period of 100 ms would slow a host in jumps
std::int64_t cpu_quota_us(const Host& host);

/// Folder of the group of a host.
std::string cpu_group(const CpuController& controller, const std::string& cluster,
                      const std::string& host);
/// Makes the group, or changes it; removes the limit where the host has none.
Status limit_cpu(const CpuController& controller, const Cluster& cluster, const Host& host);
/// Removes the groups of all hosts of the cluster. No process may be left in them.
Status remove_cpu_groups(const CpuController& controller, const std::string& cluster);

}  // namespace weft::testbed
