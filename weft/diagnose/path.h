// SPDX-License-Identifier: Apache-2.0
// Finds the critical path through all ranks. This is the chain of ops and gaps that decides when
// the last step ends. The path begins with the first step. At each collective it passes through the
// rank that arrived last. Each piece of the path begins when the piece before it ends. So the
// lengths of the pieces add up to the length of the path.
#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include "weft/diagnose/causes.h"
#include "weft/graph/graph.h"
#include "weft/sim/replay.h"

namespace weft::diagnose {

/// An op on the path, or the gap before an op.
struct PathPiece {
  graph::OpId op = 0;  ///< the op, or the op after the gap
  /// True: a delay between two ops, in which the device is idle or the host does unrecorded work.
  bool is_gap = false;
  /// The rank of the op or gap. For a transfer, the rank that arrived last. -1 if there is none.
  std::int32_t rank = -1;
  std::int32_t step = -1;  ///< step number, as the framework counts steps; -1 outside all steps
  graph::LaneId lane = 0;
  Cause cause = Cause::kIdle;
  Nanos start = 0;  ///< start in the replay
  Nanos end = 0;
  /// The recorded times on the clock of the traces, for drawing. In an op timeline there may be
  /// time between the recorded times of two neighbouring pieces, because the path leaves out
  /// pauses.
  Nanos recorded_start = 0;
  Nanos recorded_end = 0;
};

struct CriticalPath {
  /// The pieces in the order of time. Each begins when the one before it ends. No piece has length
  /// 0.
  std::vector<PathPiece> pieces;
  std::array<Nanos, kCauses> by_cause{};
  std::map<std::int32_t, Nanos> by_rank;
  Nanos length = 0;

  /// Returns the rank with the largest part of the path, or -1 without pieces.
  std::int32_t main_rank() const;
};

/// Finds the path. `replay` must be a replay of working_graph(job) whose run() has been called. The
/// path begins with the first complete step and ends with the last op of the last complete step.
CriticalPath find_critical_path(const predict::Job& job, const sim::Replay& replay);
/// Makes the replay itself and finds the path.
CriticalPath find_critical_path(const predict::Job& job);

}  // namespace weft::diagnose
