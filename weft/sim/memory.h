// SPDX-License-Identifier: Apache-2.0
// Memory over time, per device, of one recorded rank. For the peak it tells when it was, how many
// bytes, in which step and during which operator.
#pragma once

#include <string>
#include <vector>

#include "weft/trace/events.h"

namespace weft::sim {

struct MemoryPoint {
  Nanos time = 0;       ///< on the clock of the trace
  Bytes allocated = 0;  ///< allocated from this instant on
  Bytes reserved = -1;  ///< what the allocator holds from the driver; -1 if unknown
};

struct MemoryPeak {
  Nanos time = 0;  ///< first instant at which the largest amount was reached
  Bytes bytes = 0;
  std::int64_t step = -1;  ///< -1: outside all recorded steps
  std::string host_op;     ///< innermost host op that ran at that instant; empty if none
};

/// Where the numbers come from, best first.
enum class MemorySource {
  kAllocator,        ///< the allocator's own totals
  kAllocationsOnly,  ///< allocations and frees without totals; memory from before is missing
  /// The trace has no allocator events but shapes. Counts the inputs of forward ops that keep them
  /// for the backward pass, from the start of the op to the end of its backward op. Gradients,
  /// optimizer state, workspaces and all other tensors are missing, so the true amount is usually
  /// larger. A tensor that several such ops keep is counted once for each. A rough lower bound.
  kEstimatedFromShapes,
};

/// "allocator", "allocations" or "estimated".
const char* memory_source_name(MemorySource source);

struct MemoryCurve {
  std::int32_t device = -1;  ///< ordinal; -1: host memory
  MemorySource source = MemorySource::kAllocator;
  std::vector<MemoryPoint> points;  ///< by time, never empty
  MemoryPeak peak;
};

/// One curve per device, sorted by ordinal. Empty if the trace has neither allocator events nor
/// shapes.
std::vector<MemoryCurve> memory_over_time(const trace::RankTrace& trace);

}  // namespace weft::sim
