// SPDX-License-Identifier: Apache-2.0
// Loads recordings: finds the files, recognises their formats by content, reads them in parallel,
// and sorts them into runs and ranks.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "weft/base/diagnostics.h"
#include "weft/base/result.h"
#include "weft/trace/events.h"
#include "weft/trace/runs/share.h"

namespace weft::trace {

struct LoadOptions {
  /// The run to keep if the input holds several: its number (from 1) or its label. Empty: all runs.
  std::string run;
  /// Called with the number of (compressed) bytes read so far and in total. Calls come from any
  /// thread, but never two at a time. Return false to cancel.
  std::function<bool(std::int64_t done, std::int64_t total)> progress;
  /// The part of the files that this process reads, if several processes read one job together.
  /// Each of these processes sets judge_runs to false, because it does not see all ranks.
  Share share = {};
  /// Report ranks that are missing, and ranks that recorded fewer collectives than others.
  bool judge_runs = true;
};

struct Recording {
  std::vector<Run> runs;  ///< sorted by first event; empty only if the share has no trace
};

/// `inputs` are files, folders, globs, and "-" for standard input. If the caller names a file that
/// is not a trace, load() fails. If such a file is in a folder that the caller names, it is skipped
/// with a diagnostic, as long as another file is readable. Takes linear time in the input, apart
/// from sorting.
Result<Recording> load(const std::vector<std::string>& inputs, const LoadOptions& options,
                       Diagnostics& diagnostics);

}  // namespace weft::trace
