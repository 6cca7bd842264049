// SPDX-License-Identifier: Apache-2.0
// Which traces belong together. Folders often hold several recordings of the same ranks: repeated
// profiles of one job, or several jobs side by side.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/base/diagnostics.h"
#include "weft/trace/events.h"

namespace weft::trace {

/// All traces of one file, as a reader gave them.
using FileTraces = std::vector<RankTrace>;

/// Sorts traces into runs, by time of their first event. A file with several ranks is a run of its
/// own; files whose ranks are the devices of one host are joined with those of other hosts that
/// were recorded beside them at the same time. Others are split by world size and, where a rank
/// comes up twice, by folder, by name and by time. What overlaps in time with the same rank is a
/// duplicate: the larger is kept. Traces of unknown rank get the free numbers, in order of their
/// process ids.
std::vector<Run> sort_into_runs(std::vector<FileTraces> files, Diagnostics& diagnostics);

/// Ranks of the world without a recording.
struct MissingRanks {
  static constexpr std::size_t kListed = 8;
  std::int64_t count = 0;
  std::vector<std::int32_t> first;  ///< the lowest of them, at most kListed
};
MissingRanks missing_ranks(const Run& run);

/// One diagnostic that names the ranks of the world without a recording.
void report_missing_ranks(const Run& run, Diagnostics& diagnostics);

}  // namespace weft::trace
