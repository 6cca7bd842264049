// SPDX-License-Identifier: Apache-2.0
// Limits the CPU time of a host to a quota per period. The group of a host is
// ROOT/weft-testbed/CLUSTER/HOST, so all groups of a cluster are in one folder.
#include "testbed/cgroup.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <sstream>

namespace weft::testbed {
namespace {

namespace fs = std::filesystem;
constexpr const char* kFolder = "weft-testbed";
constexpr std::int64_t kLeastQuotaUs = 1000;  ///< the kernel refuses smaller quotas

tl::unexpected<Error> cannot(const std::string& what, const std::string& path, int reason) {
  return fail(ErrorCode::kUnavailable,
              fmt::format("cannot {}: {}; limiting the CPU time of a host needs the cpu controller "
                          "of cgroups",
                          what, std::strerror(reason)),
              path);
}

/// Writes a value in a single write(), whose result says whether the kernel accepts the value. A
/// buffered stream would lose that error.
Status write_setting(const std::string& path, const std::string& value) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (file < 0) return cannot("limit CPU time", path, errno);
  const ssize_t written = ::write(file, value.data(), value.size());
  const int reason = errno;
  ::close(file);
  if (written < 0) return cannot("limit CPU time", path, reason);
  return {};
}

bool has_word(const std::string& list, const std::string& word) {
  std::istringstream words(list);
  for (std::string one; std::getline(words, one, ',');) {
    if (one == word) return true;
  }
  return false;
}

/// In version 2 a group has the cpu controller only if its parent passes the controller on, so
/// every level from the root down must do so.
Status hand_down(const CpuController& controller, const std::string& cluster) {
  for (const std::string& folder :
       {std::string(), std::string(kFolder), fmt::format("{}/{}", kFolder, cluster)}) {
    WEFT_TRY(write_setting(fmt::format("{}/{}/cgroup.subtree_control", controller.root, folder),
                           "+cpu"));
  }
  return {};
}

}  // namespace

std::optional<CpuController> find_cpu_controller(const std::string& mounts) {
  std::optional<CpuController> second;
  std::istringstream lines(mounts);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    std::string device, folder, type, options;
    fields >> device >> folder >> type >> options;
    if (type == "cgroup" && has_word(options, "cpu")) return CpuController{folder, 1};
    if (type == "cgroup2") second = CpuController{folder, 2};
  }
  return second;
}

std::int64_t cpu_quota_us(const Host& host) {
  if (host.speed_permille == 1000 && host.cores == 0) return 0;
  const std::int64_t pinned = static_cast<std::int64_t>(host.pinned_to.size());
  // "speed" is a fraction of the cores of the host. If neither a number nor a list of cores is
  // given, it is a fraction of one core.
  const std::int64_t cores = host.cores > 0 ? host.cores : std::max<std::int64_t>(1, pinned);
  return cores * kCpuPeriodUs * host.speed_permille / 1000;
}

std::string cpu_group(const CpuController& controller, const std::string& cluster,
                      const std::string& host) {
  return fmt::format("{}/{}/{}/{}", controller.root, kFolder, cluster, host);
}

Status limit_cpu(const CpuController& controller, const Cluster& cluster, const Host& host) {
  const std::string group = cpu_group(controller, cluster.name, host.name);
  std::int64_t quota = cpu_quota_us(host);
  std::int64_t period = kCpuPeriodUs;
  std::error_code error;
  // A host without a limit needs no group. But if a group exists from an earlier setting, the code
  // below must remove its limit.
  if (quota == 0 && !fs::exists(group, error)) return {};
  fs::create_directories(group, error);
  if (error) return cannot("make a group", group, error.value());
  // For very slow hosts the quota would be too small. A longer period allows a larger quota for the
  // same fraction of CPU time.
  for (; quota > 0 && quota < kLeastQuotaUs; quota *= 10) period *= 10;
  if (controller.version == 2) {
    WEFT_TRY(hand_down(controller, cluster.name));
    return write_setting(group + "/cpu.max",
                         fmt::format("{} {}", quota > 0 ? std::to_string(quota) : "max", period));
  }
  WEFT_TRY(write_setting(group + "/cpu.cfs_period_us", std::to_string(period)));
  return write_setting(group + "/cpu.cfs_quota_us", std::to_string(quota > 0 ? quota : -1));
}

Status remove_cpu_groups(const CpuController& controller, const std::string& cluster) {
  const fs::path folder = fs::path(controller.root) / kFolder / cluster;
  std::error_code error;
  // The files inside a group belong to the kernel: remove_all() would fail to delete them, but
  // rmdir() removes the group with its files.
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    if (entry.is_directory(error)) ::rmdir(entry.path().c_str());
  }
  if (::rmdir(folder.c_str()) != 0 && errno != ENOENT) {
    return cannot("remove the group", folder.string(), errno);
  }
  ::rmdir(folder.parent_path().c_str());  // does nothing while other clusters have a folder in it
  return {};
}

}  // namespace weft::testbed
