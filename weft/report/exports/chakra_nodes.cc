// SPDX-License-Identifier: Apache-2.0
// Turns the ops of one rank into Chakra nodes, in the topological order of the graph:
//   - A compute op or host op becomes one compute node.
//   - An arrival at a collective becomes one communication node. This node also stands for the
//   transfer of the collective.
//   - An arrival at a message becomes a send or a receive node, or one of each for an exchange.
//   - A delay on an edge within a lane becomes a separate node ("host work" or "pause"), because
//     Chakra's dependencies have no delay.
// An edge that starts at a transfer becomes a dependency on the communication node that stands for
// this transfer on this rank.
#include "weft/report/exports/chakra_nodes.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace weft::report {
namespace {

using graph::EdgeKind;
using graph::Graph;
using graph::kNoId;
using graph::OpId;
using graph::OpKind;
using trace::CollectiveKind;
using trace::chakra::comm_type_of;
using trace::chakra::NodeType;

constexpr DiagnosticKind kNoSize{"chakra-unknown-size", Severity::kWarning,
                                 "collectives or messages of unknown size were written with size 0",
                                 "record with a profiler that records sizes; weft info says how"};
constexpr DiagnosticKind kNoKind{
    "chakra-unknown-kind", Severity::kWarning,
    "communication of a kind that Chakra does not have was written as compute nodes of the same "
    "duration",
    "no action is needed unless the simulator should model the network time of these operations"};
constexpr DiagnosticKind kNoPeer{
    "chakra-message-without-peer", Severity::kWarning,
    "messages whose other end was not recorded were written as compute nodes of the same duration",
    "record all ranks of the job"};
constexpr DiagnosticKind kLatency{"chakra-latencies-dropped", Severity::kInfo,
                                  "latencies between lanes (for example from a launch to its "
                                  "kernel) are not in the export, because "
                                  "Chakra cannot express them",
                                  "no action is needed"};

/// The members of a collective. If some members were not recorded, the complete list comes from a
/// process group with the name of the collective's group: the first such group that contains all
/// recorded members. If there is no such group, the result has only the recorded members.
std::vector<std::int32_t> members_of(const predict::Job& job, const graph::Collective& collective) {
  std::vector<std::int32_t> members;
  for (const OpId arrival : collective.arrivals) members.push_back(job.graph.rank(arrival));
  std::sort(members.begin(), members.end());
  members.erase(std::unique(members.begin(), members.end()), members.end());
  if (static_cast<std::int32_t>(members.size()) >= collective.ranks) return members;
  for (const trace::RankTrace& rank : job.run.ranks) {
    for (const trace::ProcessGroup& group : rank.groups) {
      std::vector<std::int32_t> ranks = group.ranks;
      std::sort(ranks.begin(), ranks.end());
      const bool fits = group.name == collective.group &&
                        std::includes(ranks.begin(), ranks.end(), members.begin(), members.end());
      if (fits) return ranks;
    }
  }
  return members;
}

/// A kernel can send and receive at once, and then two matched kernels exchange data in both
/// directions. A collective of the graph has the bytes of one direction only. This map has the
/// bytes of the other direction. Its key is {rank and event of the first member, rank and event of
/// the second member}.
std::map<std::array<std::int64_t, 4>, Bytes> exchanges(const predict::Job& job) {
  std::map<std::array<std::int64_t, 4>, Bytes> back;
  for (const trace::Match& match : job.matches) {
    if (!match.is_message() || match.members.size() != 2 || match.bytes_back <= 0) continue;
    const auto rank = [&](std::size_t i) { return job.run.ranks[match.members[i].rank].rank; };
    back[{rank(0), match.members[0].event, rank(1), match.members[1].event}] = match.bytes_back;
  }
  return back;
}

/// Builds the nodes of one rank. Call run() only once.
class RankNodes {
 public:
  RankNodes(const predict::Job& job, const ChakraPlan& plan, std::int32_t rank)
      : graph_(job.graph), plan_(plan), rank_(rank), nodes_of_(graph_.size()) {}

  std::vector<ChakraNode> run(Diagnostics& diagnostics) {
    find_begin();
    for (OpId op = 0; op < graph_.size(); ++op) {
      if (graph_.rank(op) == rank_) add_op(op);
    }
    if (latencies_ > 0) diagnostics.add(kLatency, "rank " + std::to_string(rank_), latencies_);
    return std::move(nodes_);
  }

 private:
  struct Row {
    std::int64_t number = 0;
    Nanos rest = 0;  ///< remainder below 1 us; it is added to the next node of the lane
  };

  /// Finds begin_, the time at which this rank's first op starts. The first ops of a rank depend on
  /// the op that stands for the beginning of the recording, with a delay. begin_ is subtracted from
  /// this delay; otherwise every trace would start with a pause until the rank's first event.
  void find_begin() {
    Nanos first = INT64_MAX;
    for (OpId op = 0; op < graph_.size(); ++op) {
      if (graph_.rank(op) != rank_) continue;
      for (const graph::Edge& edge : graph_.in_edges(op)) {
        if (is_beginning(edge.source)) first = std::min(first, edge.delay);
      }
    }
    begin_ = first == INT64_MAX ? 0 : first;
  }

  bool is_beginning(OpId op) const {
    return graph_.rank(op) < 0 && graph_.ops.kind[op] != OpKind::kTransfer;
  }

  /// Rows are numbered in the order of their first use.
  Row& row_of(OpId op) {
    const auto [row, fresh] = rows_.try_emplace(graph_.ops.lane[op]);
    if (fresh) row->second.number = static_cast<std::int64_t>(rows_.size()) - 1;
    return row->second;
  }

  /// Rounds a duration of `length` ns on the op's lane down to whole microseconds. The remainder is
  /// kept and added to the next duration on this lane.
  std::int64_t micros(OpId op, Nanos length) {
    Row& row = row_of(op);
    row.rest += length;
    const std::int64_t whole = row.rest / kMicrosecond;
    row.rest %= kMicrosecond;
    return whole;
  }

  bool on_host(OpId op) const {
    return graph_.lanes[graph_.ops.lane[op]].kind == graph::LaneKind::kHost;
  }

  /// Appends a node and returns its position.
  std::uint64_t add(ChakraNode node) {
    nodes_.push_back(std::move(node));
    return nodes_.size() - 1;
  }

  /// The nodes of this rank that a successor of `source` depends on. If `source` is an op of this
  /// rank, these are the nodes of that op. If `source` is a transfer, these are the nodes of this
  /// rank's arrivals at the transfer. If `source` is an op of another rank, there are none.
  std::vector<std::uint64_t> nodes_to_wait_for(OpId source) const {
    if (graph_.ops.kind[source] != OpKind::kTransfer) {
      return graph_.rank(source) == rank_ ? nodes_of_[source] : std::vector<std::uint64_t>();
    }
    std::vector<std::uint64_t> nodes;
    const std::uint32_t collective = graph_.ops.collective[source];
    if (collective == kNoId) return nodes;
    for (const OpId arrival : graph_.collectives[collective].arrivals) {
      if (graph_.rank(arrival) != rank_) continue;
      nodes.insert(nodes.end(), nodes_of_[arrival].begin(), nodes_of_[arrival].end());
    }
    return nodes;
  }

  /// Whether two arrivals belong to the same kernel. A kernel with several messages has one arrival
  /// per message; the arrivals are chained in the graph but happen at the same time.
  bool same_kernel(OpId a, OpId b) const {
    return graph_.ops.kind[a] == OpKind::kArrive && graph_.ops.kind[b] == OpKind::kArrive &&
           graph_.ops.event[a] != kNoId && graph_.ops.event[a] == graph_.ops.event[b] &&
           graph_.rank(a) == graph_.rank(b);
  }

  std::vector<std::uint64_t> dependencies(OpId op) {
    std::vector<std::uint64_t> deps;
    const auto append = [&](const std::vector<std::uint64_t>& more) {
      deps.insert(deps.end(), more.begin(), more.end());
    };
    for (const graph::Edge& edge : graph_.in_edges(op)) {
      const OpId source = edge.source;
      if (same_kernel(source, op)) {
        // A kernel issues all its messages at the same time. So this message does not depend on the
        // previous message of the kernel, but on the same nodes as that message.
        append(deps_of_kernel_[source]);
        continue;
      }
      std::vector<std::uint64_t> waits_for = nodes_to_wait_for(source);
      const bool beginning = is_beginning(source);
      Nanos delay = edge.delay - (beginning ? begin_ : 0);
      // A delay on an edge within a lane is time that the lane spends: it becomes a node. Other
      // edges lead from one lane to another. Their delay is a latency, which Chakra cannot express.
      if (edge.kind != EdgeKind::kOrder && edge.kind != EdgeKind::kCollective) {
        latencies_ += delay >= kMicrosecond ? 1 : 0;
        delay = 0;
      }
      if (const std::int64_t length = delay > 0 ? micros(op, delay) : 0; length > 0) {
        ChakraNode gap;
        gap.name = on_host(op) ? "host work" : "pause";
        gap.on_host = on_host(op);
        gap.row = row_of(op).number;
        gap.deps = std::move(waits_for);
        gap.duration_micros = length;
        waits_for = {add(std::move(gap))};
      }
      append(waits_for);
    }
    append_link_order(op, deps);
    std::sort(deps.begin(), deps.end());
    deps.erase(std::unique(deps.begin(), deps.end()), deps.end());
    return deps;
  }

  /// In the graph, edges between transfers say that a communicator runs its operations one after
  /// the other. Transfers have no nodes, so the order becomes a dependency between this rank's
  /// nodes.
  void append_link_order(OpId op, std::vector<std::uint64_t>& deps) const {
    const std::uint32_t collective = graph_.ops.collective[op];
    if (graph_.ops.kind[op] != OpKind::kArrive || collective == kNoId) return;
    const OpId transfer = graph_.collectives[collective].transfer;
    if (transfer == kNoId) return;
    for (const graph::Edge& edge : graph_.in_edges(transfer)) {
      if (graph_.ops.kind[edge.source] != OpKind::kTransfer) continue;
      const auto waits_for = nodes_to_wait_for(edge.source);
      deps.insert(deps.end(), waits_for.begin(), waits_for.end());
    }
  }

  void add_op(OpId op) {
    ChakraNode node;
    node.name = graph_.name(op);
    node.deps = dependencies(op);
    if (graph_.ops.kind[op] == OpKind::kArrive) deps_of_kernel_[op] = node.deps;
    node.on_host = on_host(op);
    node.row = row_of(op).number;
    const std::uint32_t index = graph_.ops.collective[op];
    const bool communicates = graph_.ops.kind[op] == OpKind::kArrive && index != kNoId;
    node.duration_micros = micros(op, communicates ? length_of(op) : graph_.ops.duration[op]);
    if (!communicates) {
      nodes_of_[op] = {add(std::move(node))};
      return;
    }
    const graph::Collective& collective = graph_.collectives[index];
    if (collective.kind == CollectiveKind::kSendRecv) {
      add_messages(op, node, plan_.messages[index]);
      return;
    }
    node.comm_type = comm_type_of(collective.kind);
    // If Chakra does not have this kind of collective, the node stays a compute node (see kNoKind).
    if (node.comm_type >= 0) {
      node.type = NodeType::kCollective;
      node.on_host = false;
      node.comm_size = std::max<Bytes>(collective.bytes, 0);
      node.group = plan_.group[index];
    }
    nodes_of_[op] = {add(std::move(node))};
  }

  /// The duration of the node that stands for an arrival and its transfer. If the arrival itself
  /// has duration 0, the rank waits until the transfer ends, so the result is the duration of the
  /// transfer.
  Nanos length_of(OpId arrival) const {
    const OpId transfer = graph_.collectives[graph_.ops.collective[arrival]].transfer;
    const Nanos own = graph_.ops.duration[arrival];
    return own == 0 && transfer != kNoId ? graph_.ops.duration[transfer] : own;
  }

  /// Adds one send or receive node per message; each node is a copy of `model`. If there are no
  /// messages, because the other end was not recorded, this adds `model` itself, as a compute node.
  void add_messages(OpId op, const ChakraNode& model, const std::vector<ChakraPlan::Message>& all) {
    for (const ChakraPlan::Message& message : all) {
      ChakraNode node = model;
      node.type = message.source == rank_ ? NodeType::kSend : NodeType::kReceive;
      node.on_host = false;
      node.source = message.source;
      node.destination = message.destination;
      node.tag = message.tag;
      node.comm_size = message.bytes;
      nodes_of_[op].push_back(add(std::move(node)));
    }
    if (all.empty()) nodes_of_[op] = {add(model)};
  }

  const Graph& graph_;
  const ChakraPlan& plan_;
  const std::int32_t rank_;
  std::vector<std::vector<std::uint64_t>> nodes_of_;           ///< positions of the nodes, per op
  std::map<OpId, std::vector<std::uint64_t>> deps_of_kernel_;  ///< dependencies of each arrival
  std::map<graph::LaneId, Row> rows_;
  std::vector<ChakraNode> nodes_;
  Nanos begin_ = 0;
  std::int64_t latencies_ = 0;  ///< number of latencies that were dropped
};

}  // namespace

ChakraPlan plan_chakra(const predict::Job& job, Diagnostics& diagnostics) {
  const Graph& graph = job.graph;
  const auto back = exchanges(job);
  std::vector<std::int32_t> all_ranks(static_cast<std::size_t>(std::max(job.run.world, 0)));
  std::iota(all_ranks.begin(), all_ranks.end(), 0);
  ChakraPlan plan;
  plan.messages.resize(graph.collectives.size());
  plan.group.resize(graph.collectives.size());
  // Simulators match sends with receives by source, destination and tag. The tag of a message is
  // its number among the messages from the same source to the same destination, so that no two of
  // these messages have the same tag.
  std::map<std::pair<std::int32_t, std::int32_t>, std::int64_t> tags;
  std::int64_t sizes = 0, kinds = 0, peers = 0;
  for (std::size_t c = 0; c < graph.collectives.size(); ++c) {
    const graph::Collective& collective = graph.collectives[c];
    if (collective.kind != CollectiveKind::kSendRecv) {
      if (comm_type_of(collective.kind) < 0) {
        ++kinds;
        continue;
      }
      sizes += collective.bytes < 0 && collective.kind != CollectiveKind::kBarrier ? 1 : 0;
      const auto members = members_of(job, collective);
      if (members == all_ranks) {
        plan.group[c] = "0";
        continue;
      }
      const auto next = static_cast<std::int32_t>(plan.numbers.size()) + 1;
      plan.group[c] = std::to_string(plan.numbers.try_emplace(members, next).first->second);
      continue;
    }
    if (collective.arrivals.size() != 2) {
      ++peers;
      continue;
    }
    const OpId sender = collective.arrivals[0], receiver = collective.arrivals[1];
    const std::int32_t from = graph.rank(sender), to = graph.rank(receiver);
    sizes += collective.bytes < 0 ? 1 : 0;
    plan.messages[c].push_back(
        {from, to, tags[{from, to}]++, std::max<Bytes>(collective.bytes, 0)});
    const auto other = back.find({from, graph.ops.event[sender], to, graph.ops.event[receiver]});
    if (other != back.end()) {
      plan.messages[c].push_back({to, from, tags[{to, from}]++, other->second});
    }
  }
  if (sizes > 0) diagnostics.add(kNoSize, job.run.label, sizes);
  if (kinds > 0) diagnostics.add(kNoKind, job.run.label, kinds);
  if (peers > 0) diagnostics.add(kNoPeer, job.run.label, peers);
  return plan;
}

std::vector<ChakraNode> chakra_nodes(const predict::Job& job, const ChakraPlan& plan,
                                     std::int32_t rank, Diagnostics& diagnostics) {
  return RankNodes(job, plan, rank).run(diagnostics);
}

}  // namespace weft::report
