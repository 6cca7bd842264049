// SPDX-License-Identifier: Apache-2.0
#include "testbed/one_gpu.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>
#include <vector>

#include "testbed/program.h"

namespace weft::testbed {
namespace {

constexpr const char* kControl = "nvidia-cuda-mps-control";

std::vector<std::string> with_environment(const std::map<std::string, std::string>& environment,
                                          std::vector<std::string> words) {
  std::vector<std::string> all = {"env"};
  for (const auto& [name, value] : environment) all.push_back(name + "=" + value);
  all.insert(all.end(), words.begin(), words.end());
  return all;
}

/// The code of the stopper process. Waits until Weft closes the other end of the pipe, which also
/// happens if Weft is killed. Then stops the daemon.
[[noreturn]] void stop_after(int lifeline, const std::string& folder,
                             const std::map<std::string, std::string>& environment) {
  ::setsid();  // Ctrl-C on the terminal must not end this process before the daemon
  char byte = 0;
  while (::read(lifeline, &byte, 1) < 0 && errno == EINTR) {
  }
  (void)run_program(with_environment(environment, {kControl}), "quit\n");
  std::error_code error;
  std::filesystem::remove_all(folder, error);
  ::_exit(0);
}

}  // namespace

std::map<std::string, std::string> one_gpu_environment(const Cluster& cluster, std::size_t host,
                                                       int world) {
  std::map<std::string, std::string> set = {{"NCCL_HOSTID", cluster.hosts[host].name},
                                            {"NCCL_P2P_DISABLE", "1"},
                                            {"NCCL_SHM_DISABLE", "1"},
                                            {"NCCL_IB_DISABLE", "1"},
                                            {"NCCL_SOCKET_IFNAME", "lo"},
                                            {"GLOO_SOCKET_IFNAME", "lo"}};
  if (cluster.mps) {
    // The share of a rank is an equal share of the GPU, multiplied by the "speed" of its host.
    const int share = 100 * cluster.hosts[host].speed_permille / 1000 / world;
    set["CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"] = std::to_string(std::max(1, share));
  }
  return set;
}

Result<MpsDaemon> MpsDaemon::start() {
  if (find_program(kControl).empty()) {
    return fail(ErrorCode::kUnavailable,
                fmt::format("'{}' is not installed, but ranks need it to use a GPU at the same "
                            "time; put \"mps\": false into the description to let them take turns",
                            kControl));
  }
  std::string folder = (std::filesystem::temp_directory_path() / "weft-mps-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) {
    return fail(ErrorCode::kIo, "cannot make a folder for the daemon", folder);
  }
  MpsDaemon daemon(folder);
  int lifeline[2] = {-1, -1};
  if (::pipe2(lifeline, O_CLOEXEC) != 0) return fail(ErrorCode::kIo, "cannot make a pipe");
  daemon.lifeline_ = lifeline[1];
  // The stopper starts before the daemon, so that there is no moment at which a crash of Weft would
  // leave the daemon running.
  daemon.stopper_ = ::fork();
  if (daemon.stopper_ == 0) {
    ::close(lifeline[1]);
    stop_after(lifeline[0], folder, daemon.environment());
  }
  ::close(lifeline[0]);
  if (daemon.stopper_ < 0) return fail(ErrorCode::kIo, "cannot start a process");
  WEFT_TRY(run_program(with_environment(daemon.environment(), {kControl, "-d"})));
  return daemon;
}

MpsDaemon::MpsDaemon(MpsDaemon&& other) noexcept
    : folder_(std::move(other.folder_)),
      stopper_(std::exchange(other.stopper_, -1)),
      lifeline_(std::exchange(other.lifeline_, -1)) {}

MpsDaemon::~MpsDaemon() {
  if (lifeline_ >= 0) ::close(lifeline_);
  while (stopper_ > 0 && ::waitpid(stopper_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

std::map<std::string, std::string> MpsDaemon::environment() const {
  return {{"CUDA_MPS_PIPE_DIRECTORY", folder_ + "/pipe"},
          {"CUDA_MPS_LOG_DIRECTORY", folder_ + "/log"}};
}

}  // namespace weft::testbed
