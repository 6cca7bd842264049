// SPDX-License-Identifier: Apache-2.0
// `weft pack` as a function: recordings in, one packed file a rank out.
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
  std::string run;  ///< as LoadOptions::run
  /// Of several processes that pack one job. Each file must then tell its rank, and nothing is
  /// overwritten.
  Share share;
  /// As LoadOptions::progress.
  std::function<bool(std::int64_t done, std::int64_t total)> progress;
};

struct PackedFile {
  std::string path;
  std::int32_t rank = -1;
  std::string origin;      ///< the recording it was made of
  Bytes origin_bytes = 0;  ///< its size as it is stored, perhaps compressed; -1 if unknown
  Bytes bytes = 0;
};

/// Inputs as for load(). `out` is a file if it ends in ".weft", for one rank; else a folder, which
/// is made, with r<rank>.weft for each and the logs of processes that are no rank. Several runs get
/// a folder each inside it. By run and rank; empty if this process has no share.
Result<std::vector<PackedFile>> pack_files(const std::vector<std::string>& inputs,
                                           const std::string& out, const PackOptions& options,
                                           Diagnostics& diagnostics);

}  // namespace weft::trace
