// SPDX-License-Identifier: Apache-2.0
// How writers of large files tell how far they are, and learn that nobody waits any more.
#pragma once

#include <cstdint>
#include <functional>

#include "weft/base/result.h"

namespace weft::report {

/// Called now and then with what is written and what there is in all; false means: give up. May be
/// empty.
using ExportProgress = std::function<bool(std::int64_t done, std::int64_t total)>;

inline Status report_progress(const ExportProgress& progress, std::size_t done, std::size_t total) {
  if (progress && !progress(static_cast<std::int64_t>(done), static_cast<std::int64_t>(total))) {
    return fail(ErrorCode::kCancelled, "nothing was written");
  }
  return {};
}

}  // namespace weft::report
