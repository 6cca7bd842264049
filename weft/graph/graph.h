// SPDX-License-Identifier: Apache-2.0
// Defines the global dataflow graph of a job. It has one op for each piece of work of every rank.
// An edge says that its source must end before its destination may start. All timing follows from
// one rule:
//
//     start(op) = max over its in-edges of end(source) + delay,   end(op) = start(op) + duration
//
// So the order of host work, the order of streams, launches, event waits and collectives are all
// expressed by edges:
//   * A lane (host thread, stream, link) runs in recorded order: each op has an edge to the next op
//     of its lane. The delay of that edge is the work or idle time that nothing else explains.
//   * A blocking host call is two ops: the call, and its return, which also waits for the device.
//   * A collective is one kArrive op per member (on the member's stream) and one kTransfer op (on
//     the lane of the communicator). The transfer waits for every arrival. The next op of each
//     member's stream waits for the transfer. So a collective starts to move data when its last
//     member arrives, and it ends for all members at once.
// Code may change the durations and delays of a finished graph, but not its structure. Use
// GraphBuilder to change the structure.
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
  kHost,    ///< work on a host thread, including runtime calls that launch nothing
  kLaunch,  ///< host call that puts work on a device
  kSync,    ///< the return of a blocking host call; its duration is 0 or the time to wake up
  kKernel,  ///< device compute
  kCopy,    ///< device memcpy or memset
  kArrive,  ///< a member of a collective or message is ready to move data (on the member's stream)
  /// Data of a collective or message moves; one op for all members (on the link's lane).
  kTransfer,
  kPush,  ///< parameter server: data goes from a worker to a server
  kPull,  ///< parameter server: data goes from a server to a worker
};

enum class LaneKind : std::uint8_t { kHost, kStream, kLink };

struct Lane {
  LaneKind kind = LaneKind::kHost;
  std::int32_t rank = -1;  ///< -1 for links, which belong to no single rank
  std::string name;        ///< "r2/thread 408", "r2/stream 7", "link 0 (default_pg)"
};

enum class EdgeKind : std::uint8_t {
  kOrder,      ///< from an op to the next op of its lane
  kLaunch,     ///< from a host call to the device work that it launched
  kEventWait,  ///< a stream waits for an event of another stream
  kHostSync,   ///< from device work to the host call that waited for it
  /// From one host thread to another that continues its work (forward -> backward -> optimizer).
  kThread,
  /// From an arrival to its transfer, and from a transfer to the next op of each member's stream.
  kCollective,
  kData,  ///< known data dependency (execution traces, micro-batches)
};

struct Edge {
  OpId source = 0;
  EdgeKind kind = EdgeKind::kOrder;
  bool inferred = false;  ///< true: not recorded, but concluded from how frameworks work
  /// Least time from the end of the source to the start of the destination; never negative.
  Nanos delay = 0;
};

/// Columns with one entry per op. Ids are a topological order: every edge goes from a lower id to a
/// higher one. verify() checks this order; replay relies on it.
struct Ops {
  std::vector<OpKind> kind;
  std::vector<LaneId> lane;
  std::vector<NameId> name;
  std::vector<std::int32_t> step;  ///< step that issued the op; -1 before the first step
  std::vector<Nanos> duration;
  std::vector<Nanos> recorded_start;      ///< on the aligned clock; -1 if the op was not recorded
  std::vector<Nanos> recorded_duration;   ///< -1 if not recorded
  std::vector<Bytes> bytes;               ///< size of a transfer or copy; -1 if unknown
  std::vector<std::uint32_t> event;       ///< index into the rank's trace events; kNoId if none
  std::vector<std::uint32_t> collective;  ///< index into Graph::collectives; kNoId if none
  /// The number of host events that the profiler recorded in the op and in the gap before it.
  /// Recording an event cost the host some time. A prediction of the job without profiler subtracts
  /// that time.
  std::vector<std::int32_t> host_events;

  std::size_t size() const { return kind.size(); }
};

using trace::CollectiveKind;

/// One collective or message: its members and the properties that cost models use.
struct Collective {
  CollectiveKind kind = CollectiveKind::kOther;
  std::int32_t ranks = 0;  ///< all ranks of the collective's group, also unrecorded ones
  Bytes bytes = -1;        ///< size of the whole array, as in link tables; -1 if unknown
  std::string group;
  std::int64_t sequence = -1;  ///< position of the collective among those of its group
  OpId transfer = kNoId;
  /// Only for a transfer that shared the network with other transfers: the time that it would have
  /// taken alone, if all of them got equal shares of the network. -1 if it did not share the
  /// network, or if this is unknown. The text form does not contain this field.
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
  std::vector<EdgeId> first_edge;  ///< offsets into `edges`; has size() + 1 entries
  std::vector<Collective> collectives;
  std::vector<std::int64_t> steps;  ///< step numbers, as the framework counts steps; ascending
  Nanos origin = 0;  ///< the time on the clock of the traces at which recorded_start is 0
};

/// Checks the invariants that this room's README lists. The Error names the first broken invariant
/// and the op that breaks it. Linear in ops, edges and members.
Status verify(const Graph& graph);

}  // namespace weft::graph
