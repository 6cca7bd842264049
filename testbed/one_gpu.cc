// SPDX-License-Identifier: Apache-2.0
#include "testbed/one_gpu.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
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
    const int share = 100 * cluster.hosts[host].speed_permille / 1000 / world;
    set["CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"] = std::to_string(std::max(1, share));
  }
  return set;
}

Result<MpsDaemon> MpsDaemon::start() {
  if (find_program(kControl).empty()) {
    return fail(ErrorCode::kUnavailable,
                fmt::format("'{}' is not installed, which lets ranks share a GPU; with \"mps\": "
                            "false in the description they take turns",
                            kControl));
  }
  std::string folder = (std::filesystem::temp_directory_path() / "weft-mps-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) {
    return fail(ErrorCode::kIo, "cannot make a folder for the daemon", folder);
  }
  MpsDaemon daemon(folder);
  WEFT_TRY(run_program(with_environment(daemon.environment(), {kControl, "-d"})));
  return daemon;
}

MpsDaemon::MpsDaemon(MpsDaemon&& other) noexcept : folder_(std::exchange(other.folder_, "")) {}

MpsDaemon::~MpsDaemon() {
  if (folder_.empty()) return;
  (void)run_program(with_environment(environment(), {kControl}), "quit\n");
  std::error_code error;
  std::filesystem::remove_all(folder_, error);
}

std::map<std::string, std::string> MpsDaemon::environment() const {
  return {{"CUDA_MPS_PIPE_DIRECTORY", folder_ + "/pipe"},
          {"CUDA_MPS_LOG_DIRECTORY", folder_ + "/log"}};
}

}  // namespace weft::testbed
