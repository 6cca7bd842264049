// SPDX-License-Identifier: Apache-2.0
// Computes how much memory one recorded rank uses over time, as one curve per device. Each curve
// has a peak: the time at which most memory was used, the number of bytes, the step, and the host
// op that ran at this time.
#pragma once

#include <string>
#include <vector>

#include "weft/trace/events.h"

namespace weft::sim {

struct MemoryPoint {
  Nanos time = 0;       ///< on the clock of the trace
  Bytes allocated = 0;  ///< allocated from this instant on
  Bytes reserved = -1;  ///< bytes that the allocator holds from the driver; -1 if unknown
};

struct MemoryPeak {
  Nanos time = 0;  ///< first instant at which the largest amount was reached
  Bytes bytes = 0;
  std::int64_t step = -1;  ///< -1 if the peak is outside all recorded steps
  std::string host_op;     ///< innermost host op that ran at that instant; empty if none
};

/// Where the numbers come from. The best source is first.
enum class MemorySource {
  kAllocator,  ///< totals that the allocator recorded
  /// Recorded allocations and frees, without totals; older allocations are missing.
  kAllocationsOnly,
  /// A rough lower bound, for a trace that has shapes but no allocator events. Some forward ops
  /// keep their inputs for the backward pass. These inputs are counted from the start of the
  /// forward op to the end of its backward op. Gradients, optimizer state, workspaces and all other
  /// tensors are missing, so the true amount is usually larger. But a tensor that several such ops
  /// keep is counted once for each op.
  kEstimatedFromShapes,
};

/// "allocator", "allocations" or "estimated".
const char* memory_source_name(MemorySource source);

struct MemoryCurve {
  std::int32_t device = -1;  ///< number of the device; -1 for host memory
  MemorySource source = MemorySource::kAllocator;
  std::vector<MemoryPoint> points;  ///< sorted by time; never empty
  MemoryPeak peak;
};

/// Returns one curve per device, sorted by device number. Returns nothing if the trace has neither
/// allocator events nor shapes.
std::vector<MemoryCurve> memory_over_time(const trace::RankTrace& trace);

/// Returns the curves of the memory that training runs in: that of the devices, or host memory if
/// no device has a curve, as in a job that computes on its processors.
std::vector<MemoryCurve> training_memory(const trace::RankTrace& trace);

}  // namespace weft::sim
