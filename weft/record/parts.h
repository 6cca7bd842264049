// SPDX-License-Identifier: Apache-2.0
// What this command brings along to be run inside the job: found by where the command itself lies,
// whether it was built, installed, or came in a wheel.
#pragma once

#include <string>

namespace weft::record {

struct Parts {
  std::string bootstrap;        ///< the folder to put first on PYTHONPATH
  std::string wire;             ///< libweft-wire.so; empty if it was not built
  std::string mpi;              ///< libweft-mpi.so
  std::string nccl;             ///< libnccl-profiler-weft.so
  std::string calibrate_torch;  ///< the script that ranks run under weft calibrate
  std::string calibrate_mpi;    ///< the program that they run under mpirun
};

/// `command` is the path of the program, links followed. What is not found stays empty.
Parts find_parts(const std::string& command);
/// The same for the running program.
Parts find_own_parts();

}  // namespace weft::record
