// SPDX-License-Identifier: Apache-2.0
// Divides the files of a job among several processes that mpirun or srun started, so that they can
// read it together.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weft::trace {

/// The index of this process among all processes. By default there is one process only.
struct Share {
  std::int64_t index = 0;
  std::int64_t count = 1;

  bool divided() const { return count > 1; }
};

/// Returns the files of `sorted` that this process reads: the files of every count-th rank. Ranks
/// are read from file names. All files of one rank in one folder go to the same process. A file
/// without a rank in its name counts as a separate rank. Two kinds of files go to every process
/// that has a rank. The first kind are execution traces and logs of probes without a rank in their
/// names, because only their content tells which rank they belong to. The second kind are traces of
/// parameter servers.
std::vector<std::string> files_of_share(const std::vector<std::string>& sorted, const Share& share);

}  // namespace weft::trace
