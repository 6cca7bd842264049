// SPDX-License-Identifier: Apache-2.0
// Finds the files that run inside the job. The command is in a folder bin/. Paths are relative to
// the folder that contains bin/:
//   build:        lib/libweft-*.so,      lib/weft/python/weft, libexec/weft
//   installation: lib/weft/libweft-*.so, lib/weft/python/weft, libexec/weft
//   wheel:        lib/libweft-*.so, libexec/weft; relative to weft/_native in the package weft
#include "weft/record/parts.h"

#include <filesystem>

namespace weft::record {
namespace {

namespace fs = std::filesystem;

/// The folder of the Python package `weft`. `prefix` is the folder that contains bin/ and lib/. In
/// a build and an installation, the package is below `prefix`. In a wheel, `prefix` is
/// weft/_native, a folder inside the package.
fs::path package_of(const fs::path& prefix) {
  std::error_code ignored;
  const fs::path below = prefix / "lib/weft/python/weft";
  return fs::exists(below, ignored) ? below : prefix.parent_path();
}

/// Returns the path if it exists, and otherwise "".
std::string if_exists(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored) ? path.string() : std::string();
}

}  // namespace

Parts find_parts(const std::string& command) {
  const fs::path prefix = fs::path(command).parent_path().parent_path();
  Parts parts;
  const fs::path package = package_of(prefix);
  parts.bootstrap = if_exists(package / "_bootstrap");
  parts.calibrate_torch = if_exists(package / "torch/calibrate.py");
  parts.calibrate_mpi = if_exists(prefix / "libexec/weft/calibrate-mpi");
  for (const fs::path& folder : {prefix / "lib", prefix / "lib/weft"}) {
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
