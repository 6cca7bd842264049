// SPDX-License-Identifier: Apache-2.0
// Finds the files that run inside the job: hooks, probes and scripts. Their paths are relative to
// the path of the command, in a build, an installation and a Python wheel.
#pragma once

#include <string>

namespace weft::record {

/// The paths of these files. A path is empty if its file does not exist.
struct Parts {
  std::string bootstrap;        ///< the folder to put first on PYTHONPATH
  std::string wire;             ///< libweft-wire.so
  std::string mpi;              ///< libweft-mpi.so
  std::string nccl;             ///< libnccl-profiler-weft.so
  std::string calibrate_torch;  ///< the script that ranks run for weft calibrate
  std::string calibrate_mpi;    ///< the program that ranks run for weft calibrate under mpirun
};

/// `command` is the path of the program `weft`, with links resolved.
Parts find_parts(const std::string& command);
/// Like find_parts(), for the running program.
Parts find_own_parts();

}  // namespace weft::record
