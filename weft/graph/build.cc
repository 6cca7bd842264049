// SPDX-License-Identifier: Apache-2.0
// Joins the drafts of all ranks into one graph, in this order:
//   1. Draft each rank separately (draft_*.cc): ops of threads and streams, edges without delays.
//   2. Add op 0 ("recording begins") and the ops of all drafts. The graph id of an op is its draft
//      id plus the first graph id of its rank.
//   3. Turn the kernels of each match into arrivals and add one transfer per match. The recorded
//      length of a member's kernel is mostly waiting, so only the transfer keeps a duration.
//   4. Add the edges of the drafts. What follows a communication kernel waits until the data has
//      moved. So an edge that left the kernel in the draft leaves the kernel's transfer in the
//      graph.
//   5. Order the transfers of each link.
//   6. Derive all delays from the recorded times (delays.cc). This step comes last, because a delay
//      depends on all edges into its op.
#include "weft/graph/build.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>

#include "weft/base/parallel.h"
#include "weft/graph/builder.h"
#include "weft/graph/delays.h"
#include "weft/graph/rank_draft.h"
#include "weft/trace/match/transfer.h"

namespace weft::graph {
namespace {

constexpr DiagnosticKind kLateLaunch{
    "work-before-its-launch", Severity::kWarning,
    "device work starts before the call that launched it; this dependency was dropped",
    "the host and device clocks of this recording disagree: record again, or update the profiler"};
constexpr DiagnosticKind kLoneCollective{
    "collective-without-peers", Severity::kInfo,
    "no other rank recorded this collective, so its waiting and its transfer cannot be separated",
    "record all ranks of the job over the same steps"};

/// Joins the drafts. Op `id` of the draft of rank `r` becomes op `first_[r] + id` of the graph.
class Join {
 public:
  Join(const trace::Run& run, const std::vector<trace::Match>& matches, Diagnostics& diagnostics)
      : run_(run), matches_(matches), diagnostics_(diagnostics) {}

  Result<Graph> run() {
    draft_ranks();
    begin_recording();
    for (std::size_t r = 0; r < drafts_.size(); ++r) add_rank(r);
    for (const trace::Match& match : matches_) add_collective(match);
    add_edges();
    order_links();
    set_delays(builder_.draft(), edges_, diagnostics_);
    for (const TimedEdge& edge : edges_) {
      builder_.add_edge(edge.source, edge.destination, edge.kind, edge.delay, edge.inferred);
    }
    return std::move(builder_).finish();
  }

 private:
  void draft_ranks() {
    std::vector<std::vector<bool>> communication(run_.ranks.size());
    for (std::size_t r = 0; r < run_.ranks.size(); ++r) {
      communication[r].resize(run_.ranks[r].events.size());
    }
    for (const trace::Match& match : matches_) {
      for (const trace::Member& member : match.members) {
        communication[member.rank][member.event] = true;
      }
    }
    drafts_.resize(run_.ranks.size());
    parallel_for(run_.ranks.size(),
                 [&](std::size_t r) { drafts_[r] = draft_rank(run_.ranks[r], communication[r]); });
  }

  /// Adds op 0. Time 0 of the graph is the start of the earliest op of all ranks.
  void begin_recording() {
    origin_ = INT64_MAX;
    std::set<std::int64_t> steps;
    for (std::size_t r = 0; r < drafts_.size(); ++r) {
      for (const DraftOp& op : drafts_[r].ops) {
        origin_ = std::min(origin_, op.start);
        if (op.step >= 0) steps.insert(op.step);
      }
    }
    if (origin_ == INT64_MAX) origin_ = 0;
    builder_.draft().origin = origin_;
    builder_.draft().steps.assign(steps.begin(), steps.end());
    const LaneId job = builder_.add_lane(LaneKind::kHost, -1, "job");
    builder_.add_op({.kind = OpKind::kHost,
                     .lane = job,
                     .name = "recording begins",
                     .recorded_start = 0,
                     .recorded_duration = 0});
  }

  void add_rank(std::size_t r) {
    const RankDraft& draft = drafts_[r];
    std::vector<LaneId> lanes;
    for (const Lane& lane : draft.lanes) {
      lanes.push_back(builder_.add_lane(lane.kind, lane.rank, lane.name));
    }
    first_.push_back(static_cast<OpId>(builder_.draft().size()));
    for (const DraftOp& op : draft.ops) {
      builder_.add_op({.kind = op.kind,
                       .lane = lanes[op.lane],
                       .name = op.name,
                       .step = op.step,
                       .duration = op.duration,
                       .recorded_start = op.start - origin_,
                       .recorded_duration = op.duration,
                       .bytes = op.bytes,
                       .event = op.event,
                       .host_events = op.host_events});
    }
    if (draft.late_launches > 0) {
      diagnostics_.add(kLateLaunch, "rank " + std::to_string(run_.ranks[r].rank),
                       draft.late_launches);
    }
  }

  LaneId link_lane(const trace::Match& match) {
    std::string name = "link";
    if (match.is_message() && match.members.size() == 2) {
      name += " r" + std::to_string(run_.ranks[match.members[0].rank].rank) + " to r" +
              std::to_string(run_.ranks[match.members[1].rank].rank);
    } else {
      name += " group " + (match.group.empty() ? std::string("?") : match.group);
      // Several groups may have the same name but different ranks, as tensor-parallel groups do.
      // Each of these groups is a separate link. The first rank of the group makes the name of the
      // link unique.
      if (!match.members.empty()) {
        name += " of r" + std::to_string(run_.ranks[match.members[0].rank].rank);
      }
    }
    const auto [it, is_new] = links_.try_emplace(name, 0);
    if (is_new) it->second = builder_.add_lane(LaneKind::kLink, -1, name);
    return it->second;
  }

  void add_collective(const trace::Match& match) {
    Graph& graph = builder_.draft();
    Collective collective;
    collective.kind = match.kind;
    collective.ranks = std::max(match.group_size, static_cast<std::int32_t>(match.members.size()));
    collective.bytes = match.bytes;
    collective.group = match.group;
    collective.sequence = match.sequence;
    // An exchange between one worker and its parameter servers has no other recorded member.
    const bool alone = match.kind == CollectiveKind::kPushPull && match.group_size <= 1;
    if (match.members.size() < 2 && run_.ranks.size() > 1 && !alone) {
      diagnostics_.add(kLoneCollective, std::string(trace::to_text(match.kind)));
    }

    std::int32_t step = -1;
    std::vector<OpId> kernels;
    std::vector<trace::MemberTimes> members;
    OpId buffered = kNoId;  // the kernel of a send that ends without waiting for its receiver
    for (const trace::Member& member : match.members) {
      const OpId local = drafts_[member.rank].op_of_event[member.event];
      if (local == kNoId) continue;
      const OpId kernel = first_[member.rank] + local;
      kernels.push_back(kernel);
      const bool sends = match.is_message() && match.members.size() == 2 && match.bytes_back == 0 &&
                         &member == &match.members.front();
      if (sends && run_.ranks[member.rank].buffered_sends) buffered = kernel;
      members.push_back({graph.ops.recorded_start[kernel], recorded_end(graph, kernel)});
      step = std::max(step, graph.ops.step[kernel]);
    }
    if (kernels.empty()) return;
    const trace::Transfer moved = trace::find_transfer(members);
    const LaneId lane = link_lane(match);
    // NCCL runs the collectives of a communicator one after another. Host libraries (gloo) and
    // parameter servers run several at once. So the transfers of such a library may overlap on one
    // link.
    const bool on_host = graph.lanes[graph.ops.lane[kernels.front()]].kind == LaneKind::kHost;
    if (on_host || match.kind == CollectiveKind::kPushPull) shared_links_.insert(lane);
    const OpId transfer = builder_.add_op({.kind = OpKind::kTransfer,
                                           .lane = lane,
                                           .name = trace::to_text(match.kind),
                                           .step = step,
                                           .duration = moved.ends - moved.begins,
                                           .recorded_start = moved.begins,
                                           .recorded_duration = moved.ends - moved.begins,
                                           .bytes = match.bytes});
    collective.transfer = transfer;
    for (const OpId kernel : kernels) {
      const OpId arrival = arrive(kernel);
      collective.arrivals.push_back(arrival);
      edges_.push_back({arrival, transfer, EdgeKind::kCollective, false, 0});
      // Some members have finished before the last member arrives, such as the root of a broadcast.
      // Such a member did not wait for the transfer. It keeps its recorded duration and its own
      // out-edges.
      if (kernel != buffered && moved.waited(recorded_end(graph, kernel))) {
        transfers_of_[kernel].push_back(transfer);
        graph.ops.duration[kernel] = 0;
      }
    }
    builder_.add_collective(collective);
    on_link_[lane].push_back(transfer);
    if (match.kind != CollectiveKind::kPushPull || kernels.size() < 2) return;
    for (const OpId kernel : kernels) {
      const bool waited = transfers_of_.contains(kernel);
      if (waited && recorded_end(graph, kernel) > moved.ends) add_reply(collective, kernel, moved);
    }
  }

  /// Parameter servers answer one worker after another. The shared transfer ends when the first
  /// worker has its answer. For a worker that has its answer later, adds another transfer for which
  /// only this worker waits.
  void add_reply(const Collective& exchange, OpId kernel, const trace::Transfer& first) {
    Graph& graph = builder_.draft();
    const LaneId lane = graph.ops.lane[exchange.transfer];
    const Nanos took = recorded_end(graph, kernel) - first.ends;
    const OpId transfer = builder_.add_op({.kind = OpKind::kTransfer,
                                           .lane = lane,
                                           .name = graph.name(exchange.transfer),
                                           .step = graph.ops.step[exchange.transfer],
                                           .duration = took,
                                           .recorded_start = first.ends,
                                           .recorded_duration = took,
                                           .bytes = exchange.bytes});
    Collective reply = exchange;
    reply.ranks = 1;
    reply.transfer = transfer;
    reply.arrivals = {arrive(kernel)};
    edges_.push_back({reply.arrivals.front(), transfer, EdgeKind::kCollective, false, 0});
    edges_.push_back({exchange.transfer, transfer, EdgeKind::kOrder, true, 0});
    transfers_of_[kernel] = {transfer};
    builder_.add_collective(std::move(reply));
    on_link_[lane].push_back(transfer);
  }

  /// Makes the kernel an arrival. If the kernel carries several messages (a batch of sends and
  /// receives), it needs one arrival per message. For each further message, adds a new op behind
  /// the kernel.
  OpId arrive(OpId kernel) {
    Graph& graph = builder_.draft();
    if (graph.ops.kind[kernel] != OpKind::kArrive) {
      graph.ops.kind[kernel] = OpKind::kArrive;
      return kernel;
    }
    const OpId again = builder_.add_op({.kind = OpKind::kArrive,
                                        .lane = graph.ops.lane[kernel],
                                        .name = graph.name(kernel),
                                        .step = graph.ops.step[kernel],
                                        .duration = 0,
                                        .recorded_start = graph.ops.recorded_start[kernel],
                                        .recorded_duration = graph.ops.recorded_duration[kernel],
                                        .event = graph.ops.event[kernel]});
    edges_.push_back({kernel, again, EdgeKind::kOrder, false, 0});
    return again;
  }

  static Nanos recorded_end(const Graph& graph, OpId op) {
    return graph.ops.recorded_start[op] + graph.ops.recorded_duration[op];
  }

  /// Adds the edges of all drafts. What followed a communication kernel now follows all transfers
  /// for which the kernel waited. An op without any edge follows op 0.
  void add_edges() {
    for (std::size_t r = 0; r < drafts_.size(); ++r) {
      for (const DraftEdge& edge : drafts_[r].edges) {
        const OpId source = first_[r] + edge.source, destination = first_[r] + edge.destination;
        const auto transfers = transfers_of_.find(source);
        if (transfers == transfers_of_.end()) {
          edges_.push_back({source, destination, edge.kind, edge.inferred, 0});
          continue;
        }
        for (const OpId transfer : transfers->second) {
          const EdgeKind kind = edge.kind == EdgeKind::kOrder ? EdgeKind::kCollective : edge.kind;
          edges_.push_back({transfer, destination, kind, edge.inferred, 0});
        }
      }
    }
    std::vector<bool> has_source(builder_.draft().size());
    for (const TimedEdge& edge : edges_) has_source[edge.destination] = true;
    for (OpId op = 1; op < has_source.size(); ++op) {
      if (!has_source[op]) edges_.push_back({0, op, EdgeKind::kOrder, false, 0});
    }
  }

  /// Sets Collective::alone: how long each transfer would have taken without the others. While n
  /// transfers run at the same time, each is assumed to get 1/n of the network. A sweep over all
  /// starts and ends adds up each transfer's share of the time.
  void set_fair_shares(const std::vector<OpId>& transfers) {
    Graph& graph = builder_.draft();
    // Two entries per transfer: one with the time of its start, one with the time of its end.
    std::vector<std::pair<Nanos, OpId>> changes;
    for (const OpId op : transfers) {
      changes.emplace_back(graph.ops.recorded_start[op], op);
      changes.emplace_back(recorded_end(graph, op), op);
    }
    std::sort(changes.begin(), changes.end());
    std::map<OpId, double> share;
    std::set<OpId> under_way;
    Nanos since = 0;
    for (const auto& [time, op] : changes) {
      for (const OpId other : under_way) {
        share[other] += static_cast<double>(time - since) / static_cast<double>(under_way.size());
      }
      since = time;
      if (!under_way.erase(op)) under_way.insert(op);
    }
    for (Collective& collective : graph.collectives) {
      const auto found = share.find(collective.transfer);
      if (found != share.end()) collective.alone = std::llround(found->second);
    }
  }

  /// Orders the transfers that share a network. These are transfers of collectives that run on
  /// several threads of a host, or transfers to the same parameter servers. The recording does not
  /// show how much of the network each transfer got at what time. So the model is: the network
  /// works on one transfer until this transfer ends, and then on the next one. So no transfer
  /// starts before the previous transfer ends. The sum of the times of all transfers stays as
  /// recorded.
  void separate_shared() {
    Graph& graph = builder_.draft();
    for (const LaneId lane : shared_links_) {
      std::vector<OpId>& transfers = on_link_[lane];
      set_fair_shares(transfers);
      std::sort(transfers.begin(), transfers.end(), [&](OpId a, OpId b) {
        return std::pair{recorded_end(graph, a), a} < std::pair{recorded_end(graph, b), b};
      });
      for (std::size_t i = 1; i < transfers.size(); ++i) {
        const OpId op = transfers[i];
        const Nanos end = recorded_end(graph, op);
        Nanos& start = graph.ops.recorded_start[op];
        start = std::max(start, recorded_end(graph, transfers[i - 1]));
        graph.ops.duration[op] = graph.ops.recorded_duration[op] = end - start;
      }
    }
  }

  /// Adds the order of the transfers of each communicator. A communicator runs one transfer at a
  /// time, in the order of issue. The recorded starts show this order.
  void order_links() {
    separate_shared();
    const Graph& graph = builder_.draft();
    for (auto& [lane, transfers] : on_link_) {
      std::sort(transfers.begin(), transfers.end(), [&](OpId a, OpId b) {
        return std::pair{graph.ops.recorded_start[a], a} <
               std::pair{graph.ops.recorded_start[b], b};
      });
      for (std::size_t i = 1; i < transfers.size(); ++i) {
        edges_.push_back({transfers[i - 1], transfers[i], EdgeKind::kOrder, true, 0});
      }
    }
  }

  const trace::Run& run_;
  const std::vector<trace::Match>& matches_;
  Diagnostics& diagnostics_;
  GraphBuilder builder_;
  std::vector<RankDraft> drafts_;
  std::vector<OpId> first_;
  std::vector<TimedEdge> edges_;
  /// transfers_of_[kernel]: the transfers for which the kernel waited
  std::map<OpId, std::vector<OpId>> transfers_of_;
  std::map<std::string, LaneId> links_;          ///< links_[name]: the lane of this link
  std::map<LaneId, std::vector<OpId>> on_link_;  ///< on_link_[lane]: the transfers of this link
  std::set<LaneId> shared_links_;                ///< links whose transfers may run at the same time
  Nanos origin_ = 0;
};

}  // namespace

Result<Graph> build(const trace::Run& run, const std::vector<trace::Match>& matches,
                    Diagnostics& diagnostics) {
  return Join(run, matches, diagnostics).run();
}

}  // namespace weft::graph
