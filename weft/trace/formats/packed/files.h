// SPDX-License-Identifier: Apache-2.0
// Does the work of `weft pack`: reads recordings and writes one packed file per rank.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "weft/base/diagnostics.h"
#include "weft/base/result.h"
#include "weft/base/units.h"
#include "weft/trace/runs/share.h"

namespace weft::trace {

struct PackOptions {
  std::string run;  ///< like LoadOptions::run
  /// This process's share, if several processes pack one job together. Each recording must then
  /// name its rank, and existing files are not overwritten.
  Share share;
  /// Like LoadOptions::progress.
  std::function<bool(std::int64_t done, std::int64_t total)> progress;
};

struct PackedFile {
  std::string path;
  std::int32_t rank = -1;
  std::string origin;      ///< path of the recording that was packed
  Bytes origin_bytes = 0;  ///< size of the original file on disk, perhaps compressed; -1 if unknown
  Bytes bytes = 0;
};

/// Takes the same inputs as load(). If `out` ends in ".weft", it is a file and the inputs must have
/// one rank. Otherwise `out` is a folder, which is created if needed. It gets r<rank>.weft for each
/// rank, and copies of the logs of processes that are not ranks. If there are several runs, each
/// gets its own folder inside `out`. Returns the files sorted by run and rank; the list is empty if
/// this process has no share.
Result<std::vector<PackedFile>> pack_files(const std::vector<std::string>& inputs,
                                           const std::string& out, const PackOptions& options,
                                           Diagnostics& diagnostics);

}  // namespace weft::trace
