// SPDX-License-Identifier: Apache-2.0
// The multi-rank critical path: what decides when the last step ends, back to the first, through
// the late rank of each collective. Its pieces lie end to end, so they add up to its length.
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
  graph::OpId op = 0;   ///< the op, or the one that the gap comes before
  bool is_gap = false;  ///< delay between two ops: idle device, host work without a record
  /// Whose piece it is: for a transfer the rank that came last; -1 if nobody's.
  std::int32_t rank = -1;
  std::int32_t step = -1;  ///< number of the step, as the framework counts; -1 outside
  graph::LaneId lane = 0;
  Cause cause = Cause::kIdle;
  Nanos start = 0;  ///< in the replay
  Nanos end = 0;
  /// Where to draw it: on the clock of the traces. Pieces of an op timeline, whose pauses the path
  /// leaves out, lie apart here.
  Nanos recorded_start = 0;
  Nanos recorded_end = 0;
};

struct CriticalPath {
  std::vector<PathPiece> pieces;  ///< in order of time, without holes, none of length 0
  std::array<Nanos, kCauses> by_cause{};
  std::map<std::int32_t, Nanos> by_rank;
  Nanos length = 0;

  /// The rank with most of the path; -1 without pieces.
  std::int32_t main_rank() const;
};

/// Of the replay of working_graph(job) that has run. Begins with the first complete step and ends
/// with the last op of the last one.
CriticalPath find_critical_path(const predict::Job& job, const sim::Replay& replay);
/// The same, replaying first.
CriticalPath find_critical_path(const predict::Job& job);

}  // namespace weft::diagnose
