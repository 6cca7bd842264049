// SPDX-License-Identifier: Apache-2.0
// Memory over time per device of one recorded rank, with the peak named: when, how much, in which
// step, during which operator.
#pragma once

#include <string>
#include <vector>

#include "weft/trace/events.h"

namespace weft::sim {

struct MemoryPoint {
  Nanos time = 0;       ///< the trace's clock
  Bytes allocated = 0;  ///< from this instant on
  Bytes reserved = -1;  ///< held by the allocator from the driver; -1 unknown
};

struct MemoryPeak {
  Nanos time = 0;  ///< first instant at which the largest amount was reached
  Bytes bytes = 0;
  std::int64_t step = -1;  ///< -1: outside all recorded steps
  std::string host_op;     ///< innermost host op running then; empty if none
};

/// Where the numbers come from.
enum class MemorySource {
  kAllocator,        ///< the allocator's own totals
  kAllocationsOnly,  ///< allocations and frees without totals: what was held before is missing
  /// No allocator events. Inputs of forward ops that keep them for the backward pass, from the op's
  /// start to the end of its backward op. Leaves out gradients, optimizer state, workspaces and all
  /// that is not an input of such an op, so the true amount is larger; a tensor that several such
  /// ops keep is counted for each. A rough lower bound, needs recorded shapes.
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

/// One curve a device, by ordinal; empty if the trace has neither allocator events nor shapes.
std::vector<MemoryCurve> memory_over_time(const trace::RankTrace& trace);

}  // namespace weft::sim
