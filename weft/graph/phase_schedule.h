// SPDX-License-Identifier: Apache-2.0
// Lists the dependencies within one step of a synchronous pipeline (see build_phases.h). Private to
// this room.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "weft/base/units.h"
#include "weft/graph/phase_roles.h"
#include "weft/trace/events.h"

namespace weft::graph {

/// The place of one worker in the parallel layout.
struct WorkerPlace {
  std::int32_t rank = -1;
  std::int32_t replica = 0;
  std::int32_t stage = 0;
  std::int32_t shard = 0;
};

struct Layout {
  std::vector<WorkerPlace> places;  ///< one per worker
  std::int32_t stages = 1;
  /// Each reduce-scatter runs while other chunks run their backward.
  bool overlaps_gradients = false;
};

/// One recorded phase.
struct Work {
  Role role = Role::kUnknown;
  std::uint32_t worker = 0;  ///< index into Layout::places
  Nanos start = 0;
  Nanos end = 0;
  trace::PhaseDetail detail;
  std::uint32_t event = kNoId;
  NameId name = 0;       ///< id in the names of the graph
  bool dropped = false;  ///< true: listed but never sent, see schedule_step()
};

/// The work `destination` waits for the work `source`. These are indices into the works of the
/// step.
struct Dependency {
  std::uint32_t source = 0;
  std::uint32_t destination = 0;
};

/// Identifies one collective or message of a step. `group` of a message is its replica. For
/// collectives, collective_key() in phase_schedule.cc shows what `group` means for each role.
struct GroupKey {
  Role role = Role::kUnknown;  ///< a message has the role of its sender
  std::int32_t group = 0;
  std::int32_t shard = 0;
  std::int32_t chunk = 0;  ///< messages: the sender's position among all model chunks
  /// Messages: the micro-batch; collectives: their position in the group.
  std::int32_t sequence = 0;
  auto operator<=>(const GroupKey&) const = default;
};

struct Schedule {
  std::vector<Dependency> dependencies;
  std::map<GroupKey, std::vector<std::uint32_t>> groups;  ///< members, as indices into the works
  std::int64_t unmatched_messages = 0;  ///< number of sends and receives that belong to no compute
};

/// Returns the dependencies and groups of one step. `works` holds all phases of the step, in any
/// order. Timelines of interleaved schedules also list messages that were never sent: before the
/// first stage of the model and behind its last stage, where there is no neighbour, and before the
/// first and after the last compute of a worker. Their sends and receives are marked as dropped.
/// O(n log n).
Schedule schedule_step(const Layout& layout, std::span<Work> works);

}  // namespace weft::graph
