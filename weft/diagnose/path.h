// SPDX-License-Identifier: Apache-2.0
// The multi-rank critical path: the chain of ops and gaps that decides when the last step ends,
// from the first step on. It passes through the late rank of each collective. Its pieces lie end to
// end, so they add up to its length.
#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include "weft/diagnose/causes.h"
#include "weft/graph/graph.h"
#include "weft/sim/replay.h"

namespace weft::diagnose {

/// An op on the path, or the gap before one.
struct PathPiece {
  graph::OpId op = 0;   ///< the op, or the op after the gap
  bool is_gap = false;  ///< a delay between two ops: the device is idle, or unrecorded host work
  /// The rank that the piece belongs to; for a transfer, the rank that arrived last. -1 if none.
  std::int32_t rank = -1;
  std::int32_t step = -1;  ///< step number as the framework counts; -1 outside all steps
  graph::LaneId lane = 0;
  Cause cause = Cause::kIdle;
  Nanos start = 0;  ///< in the replay
  Nanos end = 0;
  /// The recorded times on the clock of the traces, for drawing. In an op timeline recorded times
  /// of neighbouring pieces may lie apart, because the path leaves out the pauses.
  Nanos recorded_start = 0;
  Nanos recorded_end = 0;
};

struct CriticalPath {
  std::vector<PathPiece> pieces;  ///< in order of time, without gaps between them, none of length 0
  std::array<Nanos, kCauses> by_cause{};
  std::map<std::int32_t, Nanos> by_rank;
  Nanos length = 0;

  /// The rank with most of the path; -1 without pieces.
  std::int32_t main_rank() const;
};

/// `replay` is a replay of working_graph(job) that has run. The path begins with the first complete
/// step and ends with the last op of the last complete step.
CriticalPath find_critical_path(const predict::Job& job, const sim::Replay& replay);
/// The same, but makes the replay itself.
CriticalPath find_critical_path(const predict::Job& job);

}  // namespace weft::diagnose
