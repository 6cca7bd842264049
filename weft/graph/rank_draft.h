// SPDX-License-Identifier: Apache-2.0
// One rank's share of the graph, before the ranks are joined: what its threads and streams did and
// in which order. Private to build(). Ranks are drafted in parallel.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/graph/graph.h"
#include "weft/trace/events.h"
#include "weft/trace/launches.h"

namespace weft::graph {

/// Before any recording; far enough from the ends of the number range to be subtracted.
constexpr Nanos kLongAgo = -(Nanos{1} << 61);

/// An op before it has an id. Times are the recorded ones.
struct DraftOp {
  OpKind kind = OpKind::kKernel;
  LaneId lane = 0;  ///< index into RankDraft::lanes
  std::string_view name;
  std::int32_t step = -1;
  Nanos start = 0;
  Nanos duration = 0;
  Bytes bytes = -1;
  std::uint32_t event = kNoId;
  std::int32_t host_events = 0;
  /// Device work: when the host issued it. Work that was issued before the recording began counts
  /// as issued long ago.
  Nanos issued = kLongAgo;
  bool communication = false;  ///< of a collective or message

  Nanos end() const { return start + duration; }
};

/// A dependency without its delay, which follows from the recorded times once all are known.
struct DraftEdge {
  OpId source = 0;
  OpId destination = 0;
  EdgeKind kind = EdgeKind::kOrder;
  bool inferred = false;
};

struct RankDraft {
  std::vector<Lane> lanes;
  std::vector<DraftOp> ops;
  std::vector<DraftEdge> edges;
  /// Device work, or collectives of a rank without device; kNoId elsewhere.
  std::vector<OpId> op_of_event;
  std::int64_t late_launches = 0;  ///< device work that starts before the call that issued it
};

/// `is_communication[event]`: it belongs to a match.
RankDraft draft_rank(const trace::RankTrace& trace, const std::vector<bool>& is_communication);

/// The parts of it, in the order in which draft_rank() runs them.
void draft_host(const trace::RankTrace& trace, const trace::Launches& launches,
                const std::vector<bool>& is_communication, bool has_device, RankDraft& draft);
void draft_device(const trace::RankTrace& trace, const trace::Launches& launches,
                  const std::vector<bool>& is_communication, RankDraft& draft);
void draft_waits(const trace::RankTrace& trace, const trace::Launches& launches, RankDraft& draft);
void draft_dataflow(RankDraft& draft);
void draft_hidden_waits(const trace::RankTrace& trace, RankDraft& draft);

}  // namespace weft::graph
