// SPDX-License-Identifier: Apache-2.0
// Progress of long exports. Writers report how far they are, and the callback can cancel them.
#pragma once

#include <cstdint>
#include <functional>

#include "weft/base/result.h"

namespace weft::report {

/// Called from time to time with the number of written items and their total. Returns false to
/// cancel the export. An empty function is never called.
using ExportProgress = std::function<bool(std::int64_t done, std::int64_t total)>;

/// Fails with kCancelled if the callback cancels.
inline Status report_progress(const ExportProgress& progress, std::size_t done, std::size_t total) {
  if (progress && !progress(static_cast<std::int64_t>(done), static_cast<std::int64_t>(total))) {
    return fail(ErrorCode::kCancelled, "the export was cancelled; nothing was written");
  }
  return {};
}

}  // namespace weft::report
