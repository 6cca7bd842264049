// SPDX-License-Identifier: Apache-2.0
// Moves a process to a host. The order of the steps in enter() matters. The process joins its
// cgroup first, because inside the namespaces the write could have no effect. It enters the network
// namespace before it mounts /sys, because the new /sys shows the interfaces of the present
// namespace. It mounts after it has made a mount namespace, so that the mounts of the machine stay
// as they are.
#include "testbed/enter.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>

#include "testbed/cgroup.h"
#include "testbed/layout.h"
#include "testbed/standing.h"
#include "weft/base/file.h"

extern char** environ;

namespace weft::testbed {
namespace {

namespace fs = std::filesystem;
constexpr const char* kCgroups = "/sys/fs/cgroup";

/// Adds this process to a cgroup, by writing "0", which stands for the process that writes.
bool join_group(const std::string& group) {
  const int file = ::open(group.c_str(), O_WRONLY | O_CLOEXEC);
  if (file < 0) return false;
  const bool joined = ::write(file, "0", 1) == 1;
  ::close(file);
  return joined;
}

bool pin(const std::vector<int>& cores) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int core : cores) CPU_SET(core, &set);
  return ::sched_setaffinity(0, sizeof set, &set) == 0;
}

bool join_network(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const bool joined = ::setns(file, CLONE_NEWNET) == 0;
  ::close(file);
  return joined;
}

/// Mounts /sys anew, so that it shows the interfaces of the new network namespace. The new /sys has
/// no cgroups. So the old folder of cgroups is mounted there again, because a process such as
/// mpirun may later move on to another host and join its group.
bool mount_sys() {
  const int cgroups = ::open(kCgroups, O_PATH | O_CLOEXEC);
  if (::mount("sysfs", "/sys", "sysfs", 0, nullptr) != 0) return false;
  if (cgroups < 0) return true;
  const std::string old = fmt::format("/proc/self/fd/{}", cgroups);
  const bool kept = ::mount(old.c_str(), kCgroups, nullptr, MS_BIND | MS_REC, nullptr) == 0;
  ::close(cgroups);
  return kept;
}

bool bind(const std::string& from, const char* to) {
  return ::mount(from.c_str(), to, nullptr, MS_BIND, nullptr) == 0;
}

/// Debian installs libfaketime in a folder per architecture, other distributions in /usr/lib64 or
/// /usr/local.
std::string find_faketime() {
  constexpr const char* kFile = "faketime/libfaketimeMT.so.1";
  std::error_code error;
  for (const char* folder : {"/usr/lib", "/usr/lib64", "/usr/local/lib"}) {
    const fs::path direct = fs::path(folder) / kFile;
    if (fs::exists(direct, error)) return direct.string();
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
      if (const fs::path file = entry.path() / kFile; fs::exists(file, error)) return file.string();
    }
  }
  return "";
}

/// Weft's library that corrects the sleeps of libfaketime (sleep.c), followed by a colon for
/// LD_PRELOAD; empty if it is not installed.
std::string sleep_library() {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  for (const char* folder : {"lib", "lib/weft"}) {
    const fs::path file = self.parent_path().parent_path() / folder / "libweft-sleep.so";
    if (fs::exists(file, error)) return file.string() + ":";
  }
  return "";
}

}  // namespace

Place place_of(const Cluster& cluster, const Host& host) {
  Place place;
  place.net_namespace = "/run/netns/" + host_namespace(cluster.name, host.name);
  place.host_name = host.name;
  place.hosts_file = hosts_path(cluster.name);
  place.shared_memory = shared_memory_path(cluster.name, host.name);
  place.pinned_to = host.pinned_to;
  const auto mounts = read_file("/proc/self/mounts");
  const auto controller = mounts ? find_cpu_controller(*mounts) : std::nullopt;
  std::error_code error;
  if (controller && fs::exists(cpu_group(*controller, cluster.name, host.name), error)) {
    place.cpu_group = cpu_group(*controller, cluster.name, host.name) + "/cgroup.procs";
  }
  return place;
}

bool enter(const Place& place, const char*& step) {
  step = "join the group for CPU time";
  if (!place.cpu_group.empty() && !join_group(place.cpu_group)) return false;
  step = "pin to cores";
  if (!place.pinned_to.empty() && !pin(place.pinned_to)) return false;
  step = "enter the network namespace";
  if (!join_network(place.net_namespace)) return false;
  step = "make a mount namespace";
  // MS_SLAVE: mounts in the new namespace do not appear on the machine. But if the machine unmounts
  // a file system, it is unmounted here too; otherwise this namespace would keep it busy.
  if (::unshare(CLONE_NEWNS | CLONE_NEWUTS) != 0 ||
      ::mount("none", "/", nullptr, MS_SLAVE | MS_REC, nullptr) != 0) {
    return false;
  }
  step = "set the host name";
  if (::sethostname(place.host_name.data(), place.host_name.size()) != 0) return false;
  step = "mount /etc/hosts, /dev/shm, /sys and /proc";
  return bind(place.hosts_file, "/etc/hosts") && bind(place.shared_memory, "/dev/shm") &&
         mount_sys() && ::mount("proc", "/proc", "proc", 0, nullptr) == 0;
}

Result<std::map<std::string, std::string>> clock_environment(const Clock& clock,
                                                             const std::string& preloaded) {
  std::map<std::string, std::string> set;
  // This process may already run with a wrong clock, because mpirun starts its daemons from the
  // first host. Then libfaketime is already loaded, and only its settings change. They must change
  // even if the clock of this host is correct.
  const bool turned = preloaded.find("libfaketime") != std::string::npos;
  if (clock.is_true() && !turned) return set;
  const std::string library = turned ? "" : find_faketime();
  if (!turned && library.empty()) {
    return fail(ErrorCode::kUnavailable,
                "a wrong clock needs libfaketime, which is not installed; on Debian: apt-get "
                "install libfaketime");
  }
  if (!turned) {
    set["LD_PRELOAD"] = (preloaded.empty() ? "" : preloaded + ":") + sleep_library() + library;
  }
  set["FAKETIME"] = (clock.offset < 0 ? "" : "+") + print_scaled(clock.offset, 9);
  if (clock.drift_ppb != 0) set["FAKETIME"] += " x" + print_scaled(kSecond + clock.drift_ppb, 9);
  // Only the time of day is wrong; durations from the monotonic clock stay correct.
  set["FAKETIME_DONT_FAKE_MONOTONIC"] = "1";
  return set;
}

std::vector<std::string> merged_environment(const std::map<std::string, std::string>& set,
                                            const std::map<std::string, std::string>& defaults) {
  std::map<std::string, std::string> all = defaults;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string text = *variable;
    const std::size_t equals = text.find('=');
    if (equals != std::string::npos) all[text.substr(0, equals)] = text.substr(equals + 1);
  }
  // libfaketime sets this variable to shared memory of the previous host, which does not exist on
  // this host.
  all.erase("FAKETIME_SHARED");
  for (const auto& [name, value] : set) all[name] = value;
  std::vector<std::string> out;
  for (const auto& [name, value] : all) out.push_back(name + "=" + value);
  return out;
}

tl::unexpected<Error> execute_on(const Cluster& cluster, std::size_t host,
                                 const std::vector<std::string>& command) {
  const Host& on = cluster.hosts[host];
  const char* preloaded = std::getenv("LD_PRELOAD");
  auto clock = clock_environment(on.clock, preloaded ? preloaded : "");
  if (!clock) return tl::unexpected(clock.error());
  const char* step = "";
  if (!enter(place_of(cluster, on), step)) {
    return fail(ErrorCode::kUnavailable,
                fmt::format("cannot {} of host '{}': {}", step, on.name, std::strerror(errno)));
  }
  const std::vector<std::string> variables = merged_environment(*clock, {});
  std::vector<char*> argv, envp;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  for (const std::string& one : variables) envp.push_back(const_cast<char*>(one.c_str()));
  argv.push_back(nullptr);
  envp.push_back(nullptr);
  ::signal(SIGPIPE, SIG_DFL);  // Weft ignores SIGPIPE, but other programs expect the default
  ::execvpe(argv[0], argv.data(), envp.data());
  return fail(ErrorCode::kBadInput,
              fmt::format("cannot run '{}': {}", command.front(), std::strerror(errno)));
}

}  // namespace weft::testbed
