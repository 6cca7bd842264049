// SPDX-License-Identifier: Apache-2.0
// What file names give away where the content is silent. Content always wins.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weft::trace {

/// The rank in names such as rank0, rank_3, rank-12, -r3, trace_7, job.3.et: -1 if there is none.
std::int32_t rank_from_name(std::string_view path);

/// What stands before the rank in the file name, separators cut off: "resnet50-w4" of
/// "resnet50-w4-r3.json.gz"; without a rank, the name up to its first dot.
std::string name_before_rank(std::string_view path);

/// HOST_PID.TIME.pt.trace.json, as PyTorch's tensorboard handler names its files.
struct WorkerName {
  std::string host;
  std::int64_t pid = -1;
};
WorkerName worker_from_name(std::string_view path);

}  // namespace weft::trace
