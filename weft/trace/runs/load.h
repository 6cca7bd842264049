// SPDX-License-Identifier: Apache-2.0
// From paths to a Recording: finds the files, recognises their formats by content, reads them in
// parallel, and sorts them into runs and ranks.
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
  /// Which run to keep where the input holds several: its number (from 1) or its label. Empty: all.
  std::string run;
  /// Called from any thread, one call at a time, with stored bytes read so far and in all; return
  /// false to cancel.
  std::function<bool(std::int64_t done, std::int64_t total)> progress;
  /// Of several processes that read one job, each with judge_runs off.
  Share share = {};
  /// Report ranks that are missing or did not record the same as others.
  bool judge_runs = true;
};

struct Recording {
  std::vector<Run> runs;  ///< by time of their first event; empty only if the share is
};

/// Inputs are files, folders, globs, and "-" for standard input. A named file that is no trace is
/// an Error; inside a folder such files are passed over with a diagnostic, as long as something
/// else is readable.
Result<Recording> load(const std::vector<std::string>& inputs, const LoadOptions& options,
                       Diagnostics& diagnostics);

}  // namespace weft::trace
