// SPDX-License-Identifier: Apache-2.0
// Lists the dependencies of one step of a synchronous pipeline (see build_phases.h). Private to
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
  bool overlaps_gradients = false;  ///< reduce-scatter runs during the backward of other chunks
};

/// One recorded phase.
struct Work {
  Role role = Role::kUnknown;
  std::uint32_t worker = 0;  ///< index into Layout::places
  Nanos start = 0;
  Nanos end = 0;
  trace::PhaseDetail detail;
  std::uint32_t event = kNoId;
  NameId name = 0;       ///< in the graph's names
  bool dropped = false;  ///< recorded but never executed, see schedule_step()
};

/// Both are indices into the step's works.
struct Dependency {
  std::uint32_t source = 0;
  std::uint32_t destination = 0;
};

/// Identifies one collective or message of a step. What `group` means depends on the role: see
/// collective_key() in phase_schedule.cc; for a message it is the replica.
struct GroupKey {
  Role role = Role::kUnknown;  ///< a message has the role of its sender
  std::int32_t group = 0;
  std::int32_t shard = 0;
  std::int32_t chunk = 0;     ///< messages: the sender's position among all model chunks
  std::int32_t sequence = 0;  ///< messages: the micro-batch; collectives: position in the group
  auto operator<=>(const GroupKey&) const = default;
};

struct Schedule {
  std::vector<Dependency> dependencies;
  std::map<GroupKey, std::vector<std::uint32_t>> groups;  ///< members, as indices into the works
  std::int64_t unmatched_messages = 0;  ///< count of sends and receives that belong to no compute
};

/// `works` holds all phases of one step, in any order. Sends and receives that the pipeline does
/// not need are marked as dropped: timelines of interleaved schedules contain some that were
/// recorded but never executed, at the ends of the model and of the step. O(n log n).
Schedule schedule_step(const Layout& layout, std::span<Work> works);

}  // namespace weft::graph
