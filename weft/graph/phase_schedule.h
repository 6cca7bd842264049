// SPDX-License-Identifier: Apache-2.0
// The dependencies of one step of a synchronous pipeline (see build_phases.h). Private to this
// room.
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

struct Seat {
  std::int32_t rank = -1;
  std::int32_t replica = 0;
  std::int32_t stage = 0;
  std::int32_t shard = 0;
};

struct Layout {
  std::vector<Seat> seats;  ///< one a worker
  std::int32_t stages = 1;
  bool overlaps_gradients = false;  ///< reduce-scatter runs beside the backward of other chunks
};

/// One recorded phase.
struct Work {
  Role role = Role::kUnknown;
  std::uint32_t worker = 0;  ///< index into Layout::seats
  Nanos start = 0;
  Nanos end = 0;
  trace::PhaseDetail detail;
  std::uint32_t event = kNoId;
  NameId name = 0;       ///< in the graph's names
  bool dropped = false;  ///< recorded but never launched, see schedule_step()
};

/// Both are indices into the step's works.
struct Dependency {
  std::uint32_t source = 0;
  std::uint32_t destination = 0;
};

/// Names one collective or message of a step. What the numbers mean depends on the role.
struct GroupKey {
  Role role = Role::kUnknown;  ///< a message has the role of its sender
  std::int32_t group = 0;
  std::int32_t shard = 0;
  std::int32_t chunk = 0;     ///< messages: the sender's place among all model chunks
  std::int32_t sequence = 0;  ///< messages: micro-batch
  auto operator<=>(const GroupKey&) const = default;
};

struct Schedule {
  std::vector<Dependency> dependencies;
  std::map<GroupKey, std::vector<std::uint32_t>> groups;  ///< members
  std::int64_t unmatched_messages = 0;  ///< sends and receives that no compute belongs to
};

/// `works`: all phases of one step, in any order. Sends and receives that the pipeline does not
/// need (timelines of interleaved schedules hold some that were recorded but not launched, at the
/// ends of the model and of the step) are marked as dropped.
Schedule schedule_step(const Layout& layout, std::span<Work> works);

}  // namespace weft::graph
