// SPDX-License-Identifier: Apache-2.0
// Reads rank, host and process from file names. Used only if the content of a file does not tell.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weft::trace {

/// Returns the rank in names such as rank0, rank_3, rank-12, -r3, trace_7, job.3.et; -1 if there is
/// none.
std::int32_t rank_from_name(std::string_view path);

/// Returns the part of the file name before the rank, without separators at its end: "resnet50-w4"
/// for "resnet50-w4-r3.json.gz". If the name has no rank, returns the name up to its first dot.
std::string name_before_rank(std::string_view path);

/// Host and process id in a name such as HOST_PID.TIME.pt.trace.json, which PyTorch's
/// tensorboard_trace_handler gives to its files. The pid is -1 for other names.
struct WorkerName {
  std::string host;
  std::int64_t pid = -1;
};
WorkerName worker_from_name(std::string_view path);

}  // namespace weft::trace
