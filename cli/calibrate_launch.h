// SPDX-License-Identifier: Apache-2.0
// What `weft calibrate` starts: the user's launcher with Weft's own program for the ranks behind
// it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/result.h"
#include "weft/base/units.h"

namespace weft::cli {

struct CalibrateSettings {
  std::vector<std::string> collectives;
  std::vector<Bytes> sizes;
  std::vector<std::int64_t> ranks;  ///< groups to measure beside that of all ranks
  std::int64_t repeats = 10;
  std::int64_t seconds = 60;
  std::string backend = "auto";
};

/// "1KiB..64MiB": powers of two times the first, up to the last; or a list, "4kB,1MiB". Sorted,
/// each once. A bare number is bytes.
Result<std::vector<Bytes>> parse_sizes(std::string_view text);
/// "2,4"; each at least 2.
Result<std::vector<std::int64_t>> parse_rank_counts(std::string_view text);
/// Names as link tables spell them, each once.
Result<std::vector<std::string>> parse_collectives(std::string_view text);

/// Whether `launcher` starts MPI programs rather than a Python: mpirun and its kin, with no Python
/// behind them.
bool is_mpi_launcher(const std::vector<std::string>& launcher);

/// The launcher with `program` and its arguments put where a word has `{script}`, or else at its
/// end. Inside of a longer word they are quoted for a shell.
std::vector<std::string> launch_words(const std::vector<std::string>& launcher,
                                      const std::string& program,
                                      const CalibrateSettings& settings);

}  // namespace weft::cli
