// SPDX-License-Identifier: Apache-2.0
// Makes, finds and removes clusters. The state of a cluster is on disk and in the kernel, not in a
// process. Its folder has the description (cluster.json), the files of its hosts, and lock files:
//   * lock (in kStateFolder itself): a process holds this lock while it makes, removes or searches
//     for clusters.
//   * owner: exists while the cluster belongs to a process. This process holds the lock. If the
//     file exists but no process holds the lock, the cluster is a leftover: its process has ended.
//   * run: while a run uses a cluster that stays up, it holds this lock.
// The owner file also exists while a cluster is made. So if Weft crashes at that time, the
// incomplete cluster counts as a leftover, and the next command removes it.
#include "testbed/standing.h"

#include <fmt/format.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <set>
#include <thread>

#include "testbed/cgroup.h"
#include "testbed/layout.h"
#include "testbed/program.h"
#include "weft/base/decimal.h"
#include "weft/base/file.h"

namespace weft::testbed {
namespace {

namespace fs = std::filesystem;
constexpr const char* kNamespaceFolder = "/run/netns";
constexpr auto kPatience = std::chrono::seconds(5);

std::string folder_of(const std::string& cluster) {
  return fmt::format("{}/{}", kStateFolder, cluster);
}
std::string description_path(const std::string& cluster) {
  return folder_of(cluster) + "/cluster.json";
}
std::string shared_memory_folder(const std::string& cluster) { return folder_of(cluster) + "/shm"; }
/// The lock file of the process that the cluster belongs to. The file does not exist if the cluster
/// stays up until it is taken down.
std::string owner_path(const std::string& cluster) { return folder_of(cluster) + "/owner"; }

std::optional<CpuController> controller_of_machine() {
  const auto mounts = read_file("/proc/self/mounts");
  return mounts ? find_cpu_controller(*mounts) : std::nullopt;
}

/// The lock that serialises all commands that make, remove or search for clusters.
Result<Lock> lock_machine() {
  std::error_code error;
  fs::create_directories(kStateFolder, error);
  if (error) {
    return fail(ErrorCode::kUnavailable,
                "a testbed needs root: cannot make its folder: " + error.message(), kStateFolder);
  }
  return Lock::wait_for(fmt::format("{}/lock", kStateFolder));
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> namespaces_of(const std::string& cluster) {
  std::vector<std::string> names = names_in(kNamespaceFolder);
  std::erase_if(names,
                [&](const std::string& name) { return cluster_of_namespace(name) != cluster; });
  return names;
}

/// All processes in these network namespaces, no matter which process started them. A namespace is
/// identified by the inode of its file.
std::vector<pid_t> processes_in(const std::vector<std::string>& namespaces) {
  std::set<ino_t> inodes;
  struct stat about {};
  for (const std::string& name : namespaces) {
    const std::string path = fmt::format("{}/{}", kNamespaceFolder, name);
    if (::stat(path.c_str(), &about) == 0) inodes.insert(about.st_ino);
  }
  std::vector<pid_t> found;
  for (const std::string& name : names_in("/proc")) {
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    if (::stat(fmt::format("/proc/{}/ns/net", name).c_str(), &about) != 0) continue;
    if (inodes.contains(about.st_ino)) found.push_back(static_cast<pid_t>(*parse_int(name)));
  }
  return found;
}

/// Kills all processes in these namespaces. Repeats this until no process is left, because a
/// process may start another one meanwhile. Gives up after kPatience.
void end_processes(const std::vector<std::string>& namespaces) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  for (;;) {
    const std::vector<pid_t> alive = processes_in(namespaces);
    if (alive.empty() || std::chrono::steady_clock::now() > deadline) return;
    for (const pid_t process : alive) ::kill(process, SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

/// Removes a cluster. Continues after a failure, to leave as little as possible behind, and returns
/// the first failure.
Status remove_everything(const std::string& cluster) {
  Status outcome;
  const std::vector<std::string> namespaces = namespaces_of(cluster);
  end_processes(namespaces);
  std::string commands;
  for (const std::string& name : namespaces) commands += fmt::format("netns del {}\n", name);
  if (!commands.empty()) {
    if (auto done = run_program({"ip", "-force", "-batch", "-"}, commands); !done) {
      outcome = tl::unexpected(done.error());
    }
  }
  if (const auto controller = controller_of_machine()) {
    if (auto done = remove_cpu_groups(*controller, cluster); !done && outcome) outcome = done;
  }
  std::error_code error;
  for (const std::string& host : names_in(shared_memory_folder(cluster))) {
    ::umount2(shared_memory_path(cluster, host).c_str(), MNT_DETACH);
  }
  // After a failure the folder stays, so that the next attempt finds what is left.
  if (outcome) fs::remove_all(folder_of(cluster), error);
  return outcome;
}

/// Whether a cluster is a leftover. If it has no description, it was never completed. If its owner
/// file can be locked, the process that it belonged to has ended.
bool is_leftover(const std::string& cluster) {
  std::error_code error;
  if (!fs::exists(description_path(cluster), error)) return true;
  if (!fs::exists(owner_path(cluster), error)) return false;
  const auto lock = Lock::try_take(owner_path(cluster));
  return lock && lock->has_value();
}

/// The names of all clusters that have a folder or a namespace. Usually a cluster has both, but its
/// folder may have been deleted by hand.
std::set<std::string> known_names() {
  std::set<std::string> names;
  std::error_code error;
  for (const std::string& name : names_in(kStateFolder)) {
    if (fs::is_directory(folder_of(name), error)) names.insert(name);
  }
  for (const std::string& name : names_in(kNamespaceFolder)) {
    if (const std::string cluster = cluster_of_namespace(name); !cluster.empty())
      names.insert(cluster);
  }
  return names;
}

/// Removes all leftovers and returns the names of the clusters that stay. The caller must hold the
/// lock of lock_machine().
Result<std::vector<std::string>> remove_leftovers() {
  std::vector<std::string> standing;
  for (const std::string& name : known_names()) {
    if (is_leftover(name)) {
      WEFT_TRY(remove_everything(name));
    } else {
      standing.push_back(name);
    }
  }
  return standing;
}

Result<Standing> read_standing(const std::string& name) {
  Standing standing;
  WEFT_ASSIGN(standing.cluster, read_cluster(description_path(name)));
  std::error_code error;
  if (fs::exists(owner_path(name), error)) standing.lifetime = Lifetime::kOfThisProcess;
  return standing;
}

/// mpirun calls this script as `rsh HOST COMMAND...` to start its daemons on the other hosts. The
/// script calls the running weft command by its full path, because PATH may not contain it.
std::string agent_script(const std::string& cluster) {
  std::error_code error;
  return fmt::format(
      "#!/bin/sh\n# Runs a command on a host of cluster {0}, called as rsh would be.\n"
      "host=$1\nshift\nexec '{1}' testbed enter {0} \"$host\" -- /bin/sh -c \"$*\"\n",
      cluster, fs::read_symlink("/proc/self/exe", error).string());
}

Status make_network(const Cluster& cluster) {
  const std::string center = switch_namespace(cluster.name);
  WEFT_TRY(run_program({"ip", "-batch", "-"}, making_namespaces(cluster)));
  WEFT_TRY(run_program({"ip", "-n", center, "-batch", "-"}, making_switch(cluster)));
  for (std::size_t i = 0; i < cluster.hosts.size(); ++i) {
    const std::string host = host_namespace(cluster.name, cluster.hosts[i].name);
    WEFT_TRY(run_program({"ip", "-n", host, "-batch", "-"}, making_host(i)));
  }
  return {};
}

Status make_files(const Cluster& cluster) {
  WEFT_TRY(write_file(hosts_path(cluster.name), hosts_file(cluster)));
  const std::string agent = agent_path(cluster.name);
  WEFT_TRY(write_file(agent, agent_script(cluster.name)));
  std::error_code error;
  fs::permissions(agent, fs::perms(0755), error);
  for (const Host& host : cluster.hosts) {
    const std::string folder = shared_memory_path(cluster.name, host.name);
    fs::create_directories(folder, error);
    if (error) return fail(ErrorCode::kIo, "cannot make the folder: " + error.message(), folder);
    if (::mount("weft-testbed", folder.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777") != 0) {
      return fail(ErrorCode::kUnavailable, fmt::format("cannot mount: {}", std::strerror(errno)),
                  folder);
    }
  }
  return {};
}

/// Makes the cluster. The description is written first: a cluster without a description counts as
/// never completed.
Status make_everything(const Cluster& cluster) {
  WEFT_TRY(write_file(description_path(cluster.name), print_cluster(cluster)));
  WEFT_TRY(make_files(cluster));
  WEFT_TRY(make_network(cluster));
  return apply_settings(cluster);
}

}  // namespace

std::string hosts_path(const std::string& cluster) { return folder_of(cluster) + "/hosts"; }
std::string agent_path(const std::string& cluster) { return folder_of(cluster) + "/rsh"; }
std::string shared_memory_path(const std::string& cluster, const std::string& host) {
  return fmt::format("{}/{}", shared_memory_folder(cluster), host);
}

Status check_machine(const Cluster& cluster) {
  if (::geteuid() != 0) {
    return fail(ErrorCode::kUnavailable,
                "a testbed needs root, to make network namespaces; run it with sudo");
  }
  for (const char* tool : {"ip", "tc"}) {
    if (find_program(tool).empty()) {
      return fail(ErrorCode::kUnavailable,
                  fmt::format("'{}' is not installed; on Debian: apt-get install iproute2", tool));
    }
  }
  cpu_set_t available;
  CPU_ZERO(&available);
  ::sched_getaffinity(0, sizeof available, &available);
  for (const Host& host : cluster.hosts) {
    for (const int core : host.pinned_to) {
      if (core < CPU_SETSIZE && CPU_ISSET(core, &available)) continue;
      return fail(
          ErrorCode::kUnavailable,
          fmt::format("host '{}' is pinned to core {}, which this machine does not have or this "
                      "process may not use",
                      host.name, core));
    }
    if (cpu_quota_us(host) > 0 && !controller_of_machine()) {
      return fail(
          ErrorCode::kUnavailable,
          fmt::format(
              "the CPU time of host '{}' cannot be limited: no cgroup file system is mounted",
              host.name));
    }
  }
  return {};
}

Result<std::optional<Lock>> bring_up(const Cluster& cluster, Lifetime lifetime) {
  WEFT_TRY(check_machine(cluster));
  WEFT_ASSIGN(const Lock machine, lock_machine());
  WEFT_ASSIGN(const std::vector<std::string> names, remove_leftovers());
  if (std::find(names.begin(), names.end(), cluster.name) != names.end()) {
    return fail(
        ErrorCode::kUsage,
        fmt::format("cluster '{0}' is already up; weft testbed down {0} removes it", cluster.name));
  }
  std::error_code error;
  fs::create_directories(folder_of(cluster.name), error);
  if (error) {
    return fail(ErrorCode::kIo, "cannot make the folder: " + error.message(),
                folder_of(cluster.name));
  }
  // Every cluster has an owner until it is complete. So an incomplete cluster that a crash leaves
  // behind counts as a leftover and is removed later.
  WEFT_ASSIGN(std::optional<Lock> owner, Lock::try_take(owner_path(cluster.name)));
  if (const Status made = make_everything(cluster); !made) {
    (void)remove_everything(cluster.name);  // report why making failed, even if this fails too
    return fail(
        made.error().code,
        "cannot make hosts here; this needs root with permission to mount and to make network "
        "namespaces: " +
            made.error().text());
  }
  if (lifetime == Lifetime::kUntilTakenDown) {
    fs::remove(owner_path(cluster.name), error);
    owner.reset();
  }
  return owner;
}

Status apply_settings(const Cluster& cluster) {
  WEFT_TRY(check_machine(cluster));
  WEFT_TRY(run_program({"tc", "-n", switch_namespace(cluster.name), "-batch", "-"},
                       shaping_switch(cluster)));
  const std::optional<CpuController> controller = controller_of_machine();
  for (const Host& host : cluster.hosts) {
    WEFT_TRY(run_program({"tc", "-n", host_namespace(cluster.name, host.name), "-batch", "-"},
                         shaping_host(host)));
    if (controller) WEFT_TRY(limit_cpu(*controller, cluster, host));
  }
  return {};
}

Status take_down(const std::string& name) {
  WEFT_ASSIGN(const Lock machine, lock_machine());
  const bool known = known_names().contains(name);
  // A cluster that is named explicitly is removed even if a run uses it.
  if (known) WEFT_TRY(remove_everything(name));
  WEFT_TRY(remove_leftovers());
  if (!known) {
    return fail(ErrorCode::kNotFound,
                fmt::format("no cluster '{}' is up; weft testbed list shows which are up", name));
  }
  return {};
}

Result<std::vector<Standing>> standing_clusters() {
  WEFT_ASSIGN(const Lock machine, lock_machine());
  WEFT_ASSIGN(const std::vector<std::string> names, remove_leftovers());
  std::vector<Standing> found;
  for (const std::string& name : names) {
    WEFT_ASSIGN(Standing one, read_standing(name));
    found.push_back(std::move(one));
  }
  return found;
}

Result<std::optional<Standing>> find_standing(const std::string& name) {
  if (is_leftover(name)) return std::optional<Standing>();
  WEFT_ASSIGN(Standing found, read_standing(name));
  return std::optional<Standing>(std::move(found));
}

Result<std::optional<Lock>> reserve(const std::string& name) {
  return Lock::try_take(folder_of(name) + "/run");
}

}  // namespace weft::testbed
