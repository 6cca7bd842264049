// SPDX-License-Identifier: Apache-2.0
#include "weft/record/parts.h"

#include <algorithm>
#include <filesystem>
#include <vector>

namespace weft::record {
namespace {

namespace fs = std::filesystem;

/// Folders that may hold the Python package: of a build or an installation, then of a wheel, whose
/// command lies in bin/ of the same environment.
std::vector<fs::path> packages_beside(const fs::path& prefix) {
  std::vector<fs::path> found = {prefix / "lib/weft/python/weft"};
  std::error_code error;
  for (fs::directory_iterator it(prefix / "lib", error), end; !error && it != end;
       it.increment(error)) {
    if (!it->path().filename().string().starts_with("python3")) continue;
    found.push_back(it->path() / "site-packages/weft");
    found.push_back(it->path() / "dist-packages/weft");
  }
  std::sort(found.begin() + 1, found.end());
  return found;
}

std::string if_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored) ? path.string() : std::string();
}

}  // namespace

Parts find_parts(const std::string& command) {
  const fs::path prefix = fs::path(command).parent_path().parent_path();
  Parts parts;
  std::vector<fs::path> libraries = {prefix / "lib", prefix / "lib/weft"};
  for (const fs::path& package : packages_beside(prefix)) {
    if (parts.bootstrap.empty()) parts.bootstrap = if_there(package / "_bootstrap");
    if (parts.calibrate_torch.empty()) {
      parts.calibrate_torch = if_there(package / "torch/calibrate.py");
    }
    libraries.push_back(package / "lib");
  }
  parts.calibrate_mpi = if_there(prefix / "libexec/weft/calibrate-mpi");
  for (const fs::path& folder : libraries) {
    if (parts.wire.empty()) parts.wire = if_there(folder / "libweft-wire.so");
    if (parts.mpi.empty()) parts.mpi = if_there(folder / "libweft-mpi.so");
    if (parts.nccl.empty()) parts.nccl = if_there(folder / "libnccl-profiler-weft.so");
  }
  return parts;
}

Parts find_own_parts() {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  return error ? Parts{} : find_parts(self.string());
}

}  // namespace weft::record
