// SPDX-License-Identifier: Apache-2.0
// PyTorch execution traces (ExecutionTraceObserver; schemas 1.0.1, 1.0.2-chakra and 1.1.0): the
// operators of one rank with their tensors, but without times. They know what Kineto files of
// before 2024 lack: how much each collective moves, and in which group.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/trace/events.h"
#include "weft/trace/reader.h"

namespace weft::trace {

struct ExecutionNode {
  std::int64_t id = 0;
  std::int64_t parent = 0;
  std::int64_t function = -1;  ///< rf_id: Kineto's "Record function id"
  std::int64_t sequence = -1;  ///< autograd sequence number
  std::int64_t thread = 0;     ///< numbered by the observer, not by the system
  std::int64_t fwd_thread = 0;
  NameId name = 0;
  Bytes input_bytes = 0;  ///< over all tensors
  Bytes output_bytes = 0;
  std::uint32_t collective = kNone;  ///< index into ExecutionTrace::collectives
};

struct ExecutionTrace {
  std::string file;
  std::string schema;
  std::int64_t process = -1;
  std::int32_t rank = -1;  ///< from the file name only
  Interner names;
  std::vector<ExecutionNode> nodes;  ///< by id, which is the order of their starts
  std::vector<CollectiveDetail> collectives;
};

/// As Reader::name() and Reader::description(); no Reader, because the file alone holds no times.
inline constexpr const char* kExecutionTraceName = "execution trace";
inline constexpr const char* kExecutionTraceDescription =
    "PyTorch execution traces, read beside Kineto files for their message sizes";

/// Whether the head of a file looks like an execution trace: 0 no, 100 certain.
int recognise_execution_trace(std::string_view head);

/// Like Reader::read(): repairs are diagnostics, an unusable file is an Error.
Result<ExecutionTrace> read_execution_trace(ByteSource& source, const ReadOptions& options,
                                            Diagnostics& diagnostics);

/// Gives the collectives of `trace` the sizes, element types and groups it lacks. Calls are paired
/// in order of their starts; where the two files do not have the same calls, the longest common
/// sequence is taken. Returns how many were completed.
std::int64_t attach(RankTrace& trace, const ExecutionTrace& execution, Diagnostics& diagnostics);

}  // namespace weft::trace
