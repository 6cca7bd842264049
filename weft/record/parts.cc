// SPDX-License-Identifier: Apache-2.0
// The layouts that are searched, relative to the folder above the command's folder (bin/):
//   build or installation: lib/libweft-*.so or lib/weft/, lib/weft/python/weft, libexec/weft
//   wheel:                 lib/python3.*/site-packages/weft, with the libraries in its lib/
#include "weft/record/parts.h"

#include <algorithm>
#include <filesystem>
#include <vector>

namespace weft::record {
namespace {

namespace fs = std::filesystem;

/// Folders that may contain the Python package, in order of preference: that of a build or an
/// installation, then that of a wheel. (The command of a wheel is in bin/ of its environment.)
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

/// The path if it exists, else "".
std::string if_exists(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored) ? path.string() : std::string();
}

}  // namespace

Parts find_parts(const std::string& command) {
  const fs::path prefix = fs::path(command).parent_path().parent_path();
  Parts parts;
  std::vector<fs::path> libraries = {prefix / "lib", prefix / "lib/weft"};
  for (const fs::path& package : packages_beside(prefix)) {
    if (parts.bootstrap.empty()) parts.bootstrap = if_exists(package / "_bootstrap");
    if (parts.calibrate_torch.empty()) {
      parts.calibrate_torch = if_exists(package / "torch/calibrate.py");
    }
    libraries.push_back(package / "lib");
  }
  parts.calibrate_mpi = if_exists(prefix / "libexec/weft/calibrate-mpi");
  for (const fs::path& folder : libraries) {
    if (parts.wire.empty()) parts.wire = if_exists(folder / "libweft-wire.so");
    if (parts.mpi.empty()) parts.mpi = if_exists(folder / "libweft-mpi.so");
    if (parts.nccl.empty()) parts.nccl = if_exists(folder / "libnccl-profiler-weft.so");
  }
  return parts;
}

Parts find_own_parts() {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  return error ? Parts{} : find_parts(self.string());
}

}  // namespace weft::record
