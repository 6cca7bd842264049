// SPDX-License-Identifier: Apache-2.0
// Makes the draft of one rank. A draft describes what the threads and streams of the rank did, and
// in which order. It is this rank's part of the graph before build() joins the ranks. Private to
// build(), which drafts the ranks in parallel.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/graph/graph.h"
#include "weft/trace/events.h"
#include "weft/trace/launches.h"

namespace weft::graph {

/// A time before any recording. Code may subtract it from a recorded time without overflow.
constexpr Nanos kLongAgo = -(Nanos{1} << 61);

/// An op that has no id yet. Its times are the recorded ones.
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
  /// Only for device work: when the host issued it. kLongAgo if this was before the recording
  /// began.
  Nanos issued = kLongAgo;
  bool communication = false;  ///< part of a collective or message

  Nanos end() const { return start + duration; }
};

/// A dependency without its delay. set_delays() derives the delays when all ranks are joined.
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
  /// For each trace event that is device work: its op. On a rank without device, also the op of
  /// each event that is a collective. kNoId for all other events.
  std::vector<OpId> op_of_event;
  std::int64_t late_launches = 0;  ///< number of device ops that start before their launch call
};

/// Makes the draft of one rank. `is_communication[event]` says whether the event belongs to a
/// match.
RankDraft draft_rank(const trace::RankTrace& trace, const std::vector<bool>& is_communication);

/// The parts of draft_rank(), in the order in which it calls them. Each part adds ops or edges to
/// the draft. It relies on the ops and edges that the parts before it added.
void draft_host(const trace::RankTrace& trace, const trace::Launches& launches,
                const std::vector<bool>& is_communication, bool has_device, RankDraft& draft);
void draft_device(const trace::RankTrace& trace, const trace::Launches& launches,
                  const std::vector<bool>& is_communication, RankDraft& draft);
void draft_waits(const trace::RankTrace& trace, const trace::Launches& launches, RankDraft& draft);
void draft_dataflow(RankDraft& draft);
void draft_hidden_waits(const trace::RankTrace& trace, RankDraft& draft);

}  // namespace weft::graph
