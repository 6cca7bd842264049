// SPDX-License-Identifier: Apache-2.0
// Reads PyTorch execution traces (written by ExecutionTraceObserver; schemas 1.0.1, 1.0.2-chakra
// and 1.1.0). They list the operators of one rank with their tensors, but without times. They
// contain what Kineto files from before 2024 lack: the size and the group of each collective.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/trace/events.h"
#include "weft/trace/reader.h"

namespace weft::trace {

/// One operator call.
struct ExecutionNode {
  std::int64_t id = 0;
  std::int64_t parent = 0;
  std::int64_t function = -1;  ///< "rf_id", which Kineto calls "Record function id"
  std::int64_t sequence = -1;  ///< autograd sequence number
  std::int64_t thread = 0;     ///< a number of the observer, not of the operating system
  std::int64_t fwd_thread = 0;
  NameId name = 0;
  Bytes input_bytes = 0;             ///< sum over all input tensors
  Bytes output_bytes = 0;            ///< sum over all output tensors
  std::uint32_t collective = kNone;  ///< index into ExecutionTrace::collectives
};

struct ExecutionTrace {
  std::string file;
  std::string schema;
  std::int64_t process = -1;
  std::int32_t rank = -1;  ///< the rank in the file name; -1 if it has none
  Interner names;
  std::vector<ExecutionNode> nodes;  ///< sorted by id, which is the order in which they started
  std::vector<CollectiveDetail> collectives;
};

/// What Reader::name() and Reader::description() would return. There is no Reader for this format,
/// because the file has no times and cannot become a RankTrace by itself.
inline constexpr const char* kExecutionTraceName = "execution trace";
inline constexpr const char* kExecutionTraceDescription =
    "PyTorch execution traces; they add the sizes of messages to Kineto files";

/// Returns how certain it is that a file that begins with `head` is an execution trace, from 0 (no)
/// to 100 (yes).
int recognise_execution_trace(std::string_view head);

/// Reads an execution trace. Like Reader::read(), it reports repairs as diagnostics, and returns an
/// Error if the file is unusable.
Result<ExecutionTrace> read_execution_trace(ByteSource& source, const ReadOptions& options,
                                            Diagnostics& diagnostics);

/// Completes the collectives of `trace` with the sizes, element types and groups that it lacks.
/// Values that `trace` already has stay. The calls of `trace` and of `execution` are paired in
/// order of their starts. If the two do not have the same calls, a longest common subsequence is
/// paired. Returns the number of collectives that gained a value.
std::int64_t attach(RankTrace& trace, const ExecutionTrace& execution, Diagnostics& diagnostics);

}  // namespace weft::trace
