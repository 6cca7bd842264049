// SPDX-License-Identifier: Apache-2.0
// The files of a job divided over processes that mpirun or srun started.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weft::trace {

/// One process of several; the usual one is alone.
struct Share {
  std::int64_t index = 0;
  std::int64_t count = 1;

  bool divided() const { return count > 1; }
};

/// The files of `sorted` that this process reads: every count-th rank, as file names tell ranks.
/// All files of one rank in one folder stay together; files that name no rank are dealt out like
/// ranks, but for execution traces and logs of probes: nobody knows yet whose they are, so every
/// process gets them.
std::vector<std::string> files_of_share(const std::vector<std::string>& sorted, const Share& share);

}  // namespace weft::trace
