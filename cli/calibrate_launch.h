// SPDX-License-Identifier: Apache-2.0
// The command line that `weft calibrate` starts: the user's launcher, followed by the program that
// Weft runs on every rank.
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
  std::vector<std::int64_t>
      ranks;  ///< group sizes to measure in addition to the group of all ranks
  std::int64_t repeats = 10;
  std::int64_t seconds = 60;
  std::string backend = "auto";
};

/// Parses a range or a list of sizes. The range "1KiB..64MiB" gives 1KiB, 2KiB, 4KiB and so on, up
/// to at most 64MiB. A list is "4kB,1MiB". The result is sorted and has no duplicates. A number
/// without unit is in bytes.
Result<std::vector<Bytes>> parse_sizes(std::string_view text);
/// Parses "2,4"; each number must be at least 2.
Result<std::vector<std::int64_t>> parse_rank_counts(std::string_view text);
/// Parses a list of collectives, spelled as in link tables; duplicates are dropped.
Result<std::vector<std::string>> parse_collectives(std::string_view text);

/// Whether `launcher` starts MPI programs rather than Python: true for mpirun and similar commands,
/// unless one of their arguments is python or torchrun.
bool is_mpi_launcher(const std::vector<std::string>& launcher);

/// The launcher with `program` and its arguments inserted. They replace `{script}`; if no word
/// contains `{script}`, they follow the last word. If `{script}` is only a part of a word, this
/// word is usually a shell command, so `program` and its arguments are quoted for a shell.
std::vector<std::string> launch_words(const std::vector<std::string>& launcher,
                                      const std::string& program,
                                      const CalibrateSettings& settings);

}  // namespace weft::cli
