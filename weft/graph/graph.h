// SPDX-License-Identifier: Apache-2.0
// The global dataflow graph of a job: one op for each piece of work of every rank, and one edge for
// each op that must end before another may start. All timing follows from one rule:
//
//     start(op) = max over its in-edges of end(source) + delay,   end(op) = start(op) + duration
//
// so host order, stream order, launches, event waits and collectives are all edges:
//   * A lane (host thread, stream, link) runs in recorded order: each op has an edge to the next op
//     of its lane. The delay of that edge is the work or idle time that nothing else explains.
//   * A blocking host call is two ops: the call, and its return, which also waits for the device.
//   * A collective is one kArrive op per member (on the member's stream) and one kTransfer op (on
//     the lane of the communicator) that waits for every arrival. The next op of each member's
//     stream waits for the transfer. So a collective starts to move data when its last member
//     arrives, and it ends for all members at once.
// Durations and delays of a finished graph may change. Its structure may not: use GraphBuilder.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "weft/base/interner.h"
#include "weft/base/result.h"
#include "weft/base/units.h"
#include "weft/trace/collective_kind.h"

namespace weft::graph {

using OpId = std::uint32_t;
using LaneId = std::uint32_t;
using EdgeId = std::uint32_t;
constexpr std::uint32_t kNoId = 0xffffffffu;

enum class OpKind : std::uint8_t {
  kHost,      ///< work on a host thread, including runtime calls that launch nothing
  kLaunch,    ///< host call that puts work on a device
  kSync,      ///< return of a blocking host call (duration 0 or the wake-up time)
  kKernel,    ///< device compute
  kCopy,      ///< device memcpy or memset
  kArrive,    ///< member of a collective or message is ready to move data (on the member's stream)
  kTransfer,  ///< the movement itself, one op per collective or message (on the link's lane)
  kPush,      ///< parameter server: worker -> server
  kPull,      ///< parameter server: server -> worker
};

enum class LaneKind : std::uint8_t { kHost, kStream, kLink };

struct Lane {
  LaneKind kind = LaneKind::kHost;
  std::int32_t rank = -1;  ///< -1 for links, which belong to no single rank
  std::string name;        ///< "r2/thread 408", "r2/stream 7", "link 0 (default_pg)"
};

enum class EdgeKind : std::uint8_t {
  kOrder,      ///< next on the same lane
  kLaunch,     ///< host call -> device work
  kEventWait,  ///< stream waits for an event of another stream
  kHostSync,   ///< device work -> host call that waited for it
  kThread,  ///< host thread -> thread that continues (forward -> backward, backward -> optimizer)
  kCollective,  ///< arrival -> transfer, and transfer -> next op of each member's stream
  kData,        ///< known data dependency (execution traces, micro-batches)
};

struct Edge {
  OpId source = 0;
  EdgeKind kind = EdgeKind::kOrder;
  bool inferred = false;  ///< follows from conventions of the framework; not recorded
  Nanos delay = 0;        ///< least time from the source's end to the op's start; never negative
};

/// Columns with one entry per op. Ids are a topological order: every edge goes from a lower id to a
/// higher one. verify() checks this order; replay relies on it.
struct Ops {
  std::vector<OpKind> kind;
  std::vector<LaneId> lane;
  std::vector<NameId> name;
  std::vector<std::int32_t> step;  ///< step that issued the op; -1 before the first step
  std::vector<Nanos> duration;
  std::vector<Nanos> recorded_start;      ///< aligned clock; -1 if the op was not recorded
  std::vector<Nanos> recorded_duration;   ///< -1 if not recorded
  std::vector<Bytes> bytes;               ///< size of a transfer or copy; -1 if unknown
  std::vector<std::uint32_t> event;       ///< index into the rank's trace events; kNoId if none
  std::vector<std::uint32_t> collective;  ///< index into Graph::collectives; kNoId if none
  /// Number of host events that the profiler recorded in the op and in the gap before it. Each
  /// record cost the host some time; a prediction of the job without profiler subtracts that time.
  std::vector<std::int32_t> host_events;

  std::size_t size() const { return kind.size(); }
};

using trace::CollectiveKind;

/// One collective or message: its members, and what a cost model needs to know about it.
struct Collective {
  CollectiveKind kind = CollectiveKind::kOther;
  std::int32_t ranks = 0;  ///< size of its group; counts members that were not recorded, too
  Bytes bytes = -1;        ///< size of the whole array, as link tables count it; -1 if unknown
  std::string group;
  std::int64_t sequence = -1;  ///< position in its group
  OpId transfer = kNoId;
  /// For a transfer that shared the network with other transfers: how long it would have taken
  /// alone, if all of them got equal shares. -1 if it was alone or if this is unknown. The text
  /// form leaves it out.
  Nanos alone = -1;
  std::vector<OpId> arrivals;  ///< one per recorded member
};

class Graph {
 public:
  std::size_t size() const { return ops.size(); }
  std::span<const Edge> in_edges(OpId op) const {
    return {edges.data() + first_edge[op], edges.data() + first_edge[op + 1]};
  }
  std::string_view name(OpId op) const { return names.text(ops.name[op]); }
  std::int32_t rank(OpId op) const { return lanes[ops.lane[op]].rank; }

  Interner names;
  std::vector<Lane> lanes;
  Ops ops;
  std::vector<Edge> edges;         ///< grouped by destination
  std::vector<EdgeId> first_edge;  ///< size() + 1 offsets into edges
  std::vector<Collective> collectives;
  std::vector<std::int64_t> steps;  ///< step numbers, ascending, as the framework counts them
  Nanos origin = 0;                 ///< time of recorded_start 0, on the clock of the traces
};

/// Checks the invariants that this room's README lists. The error names the first one that is
/// broken and its op. Linear in ops, edges and members.
Status verify(const Graph& graph);

}  // namespace weft::graph
