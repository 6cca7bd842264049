// SPDX-License-Identifier: Apache-2.0
// Sorts traces into runs. Folders often hold several recordings of the same ranks: repeated
// profiles of one job, or several jobs side by side.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/base/diagnostics.h"
#include "weft/trace/events.h"

namespace weft::trace {

/// All traces of one file, as a reader gave them.
using FileTraces = std::vector<RankTrace>;

/// Sorts traces into runs. Runs are in order of their first event.
///   * A file with several ranks is a separate run.
///   * Files whose ranks are the devices of one host are joined with the files of other hosts, if
///     the files lie in the same folder and were recorded at the same time.
///   * Other files are split by world size and, if a rank occurs twice, by folder, by name and by
///     time.
/// Two recordings of the same rank that overlap in time are duplicates; the larger one is kept.
/// Traces of unknown rank get the free rank numbers, in order of their process ids.
std::vector<Run> sort_into_runs(std::vector<FileTraces> files, Diagnostics& diagnostics);

/// The ranks from 0 to the world size - 1 that have no recording.
struct MissingRanks {
  static constexpr std::size_t kListed = 8;
  std::int64_t count = 0;
  std::vector<std::int32_t> first;  ///< the lowest of these ranks, at most kListed
};
MissingRanks missing_ranks(const Run& run);

/// Adds one diagnostic that names the missing ranks, if there are any.
void report_missing_ranks(const Run& run, Diagnostics& diagnostics);

}  // namespace weft::trace
