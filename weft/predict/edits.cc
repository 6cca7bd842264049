// SPDX-License-Identifier: Apache-2.0
// Applies the what-ifs for buckets and for a job without communication. rebucket() works in five
// stages:
//   1. collect() finds, for every rank and step, the ops at which gradients become ready, and the
//      all-reduces that carry the gradients.
//   2. check() refuses recordings in which the sizes of the gradients do not match the sizes of the
//      all-reduces.
//   3. make_old_ones_free() removes the host time of the old launches.
//   4. replace() goes through the steps. For every new bucket, it adds a launch and an arrival per
//      rank, and a transfer.
//   5. remove_old() removes the old all-reduces. Ops that waited for an old all-reduce now wait for
//      the last new all-reduce.
#include "weft/predict/edits.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "weft/base/median.h"
#include "weft/graph/builder.h"
#include "weft/graph/names.h"
#include "weft/predict/launch_order.h"

namespace weft::predict {
namespace {

using graph::Edge;
using graph::EdgeKind;
using graph::GraphBuilder;
using graph::OpId;
using graph::OpKind;

/// The host work right before a launch is part of the launch (copies into a bucket, calls around
/// the launch) if it usually takes less than this. If it usually takes more, it is compute of the
/// rank: a Horovod timeline does not show compute in any other way.
constexpr Nanos kMostOfALaunch = 2 * kMillisecond;

/// Returns the host work right before `op`. This is the longest delay of its in-edges.
Nanos host_gap(const graph::Graph& graph, OpId op) {
  Nanos gap = 0;
  for (const Edge& edge : graph.in_edges(op)) gap = std::max(gap, edge.delay);
  return gap;
}

/// `ops` are launches. Sets their durations to 0. The delay before a launch contains host work that
/// belongs to the launch. Removes this host work from the delay. It is assumed to take at most
/// twice the median of the delays before all these launches. If a delay is longer, the rank did
/// other work in the rest of the delay.
void make_free(GraphBuilder& builder, const graph::Graph& graph, const std::set<OpId>& ops) {
  std::vector<Nanos> gaps;
  for (const OpId op : ops) gaps.push_back(host_gap(graph, op));
  const Nanos usual = median(gaps);
  const Nanos most = usual > kMostOfALaunch ? 0 : 2 * usual;
  for (const OpId op : ops) builder.draft().ops.duration[op] = 0;
  std::vector<std::tuple<OpId, OpId, Edge>> changed;
  builder.remove_edges_if([&](OpId source, OpId destination, const Edge& edge) {
    if (!ops.contains(destination) || edge.delay == 0) return false;
    changed.emplace_back(source, destination, edge);
    return true;
  });
  for (const auto& [source, destination, edge] : changed) {
    builder.add_edge(source, destination, edge.kind, edge.delay - std::min(edge.delay, most),
                     edge.inferred);
  }
}

/// The gradients of one rank in one step, and the all-reduces that carry them.
struct Gradients {
  std::vector<OpId> ready;    ///< host ops at which a gradient becomes ready, in order of time
  std::vector<OpId> arrival;  ///< kArrive ops of the all-reduces
};

class Rebucket {
 public:
  Rebucket(const graph::Graph& graph, Bytes cap, const cost::LinkModel& links)
      : graph_(graph), cap_(cap), links_(links), order_(graph), builder_(graph) {}

  Result<graph::Graph> run() {
    collect();
    WEFT_TRY(check());
    make_old_ones_free();
    for (const std::int64_t step : graph_.steps) WEFT_TRY(replace(step));
    return std::move(builder_).finish();
  }

 private:
  using RankStep = std::pair<std::int64_t, std::int32_t>;

  void collect() {
    for (OpId op = 0; op < graph_.size(); ++op) {
      if (graph_.ops.step[op] < 0 || graph_.ops.kind[op] != OpKind::kHost) continue;
      if (graph_.name(op) == graph::kGradientReady) {
        gradients_[{graph_.ops.step[op], graph_.rank(op)}].ready.push_back(op);
      }
    }
    for (auto& [key, gradients] : gradients_) {
      std::sort(gradients.ready.begin(), gradients.ready.end(), [&](OpId a, OpId b) {
        return graph_.ops.recorded_start[a] < graph_.ops.recorded_start[b];
      });
    }
    // An all-reduce carries gradients if two things are true. The thread that runs the backward
    // pass launched it. And the first gradient of the step was ready before this launch. Other
    // all-reduces (of metrics, for example) stay as they are.
    for (const graph::Collective& c : graph_.collectives) {
      if (c.kind != graph::CollectiveKind::kAllReduce || c.transfer == graph::kNoId) continue;
      for (const OpId arrival : c.arrivals) {
        const OpId launch = order_.launch_of(arrival);
        if (launch == graph::kNoId) continue;
        const auto found = gradients_.find({graph_.ops.step[arrival], graph_.rank(arrival)});
        if (found == gradients_.end()) continue;
        const auto& ready = found->second.ready;
        if (graph_.ops.lane[launch] == graph_.ops.lane[ready.front()] &&
            graph_.ops.recorded_start[launch] >= graph_.ops.recorded_start[ready.front()]) {
          found->second.arrival.push_back(arrival);
          old_.insert(graph_.ops.collective[arrival]);
        }
      }
    }
  }

  Status check() const {
    if (gradients_.empty() || old_.empty()) {
      return fail(ErrorCode::kUsage,
                  "ddp.bucket_mb cannot be answered from this recording: it shows no gradients "
                  "(AccumulateGrad) followed by all-reduces on the same thread");
    }
    for (const auto& [key, gradients] : gradients_) {
      Bytes ready = 0, moved = 0;
      for (const OpId op : gradients.ready) {
        if (graph_.ops.bytes[op] < 0) {
          return fail(ErrorCode::kUsage,
                      "ddp.bucket_mb cannot be answered from this recording: it does not contain "
                      "the sizes of gradients; record with record_shapes=True");
        }
        ready += graph_.ops.bytes[op];
      }
      bool all_known = !gradients.arrival.empty();
      for (const OpId arrival : gradients.arrival) {
        const Bytes bytes = graph_.collectives[graph_.ops.collective[arrival]].bytes;
        all_known = all_known && bytes >= 0;
        moved += bytes;
      }
      // If the sizes differ by more than a half, the all-reduces carry something else than these
      // gradients: only a part of them, or their half-precision form.
      if (all_known && (moved > ready + ready / 2 || moved < ready - ready / 2)) {
        return fail(ErrorCode::kUsage, "ddp.bucket_mb cannot be answered from this recording: " +
                                           std::to_string(ready) +
                                           " bytes of gradients became "
                                           "ready, but " +
                                           std::to_string(moved) +
                                           " bytes were all-reduced in "
                                           "step " +
                                           std::to_string(key.first));
      }
    }
    return {};
  }

  void make_old_ones_free() {
    std::vector<Nanos> costs;
    std::set<OpId> launches;
    for (const auto& [key, gradients] : gradients_) {
      for (const OpId arrival : gradients.arrival) {
        const OpId launch = order_.launch_of(arrival);
        costs.push_back(graph_.ops.duration[launch] + host_gap(graph_, launch));
        launches.insert(launch);
      }
    }
    launch_cost_ = median(costs);
    make_free(builder_, graph_, launches);
  }

  /// Replaces the all-reduces of one step. Each new bucket gets a launch on each rank. The launch
  /// follows the gradient that closes the bucket.
  Status replace(std::int64_t step) {
    std::vector<std::pair<std::int32_t, const Gradients*>> ranks;
    for (const auto& [key, gradients] : gradients_) {
      if (key.first == step && !gradients.arrival.empty()) {
        ranks.emplace_back(key.second, &gradients);
      }
    }
    if (ranks.empty()) return {};
    const std::vector<std::pair<std::size_t, Bytes>> buckets = fill(ranks.front().second->ready);
    for (const auto& [rank, gradients] : ranks) {
      if (gradients->ready.size() != ranks.front().second->ready.size()) {
        return fail(ErrorCode::kUsage,
                    "ddp.bucket_mb cannot be answered from this recording: ranks show different "
                    "numbers of gradients in step " +
                        std::to_string(step));
      }
    }
    const OpId pattern = ranks.front().second->arrival.front();
    const graph::Collective old = graph_.collectives[graph_.ops.collective[pattern]];
    OpId transfer = graph::kNoId;  // the transfer of the previous bucket
    for (const auto& [closing, bytes] : buckets) {
      const auto estimate = links_.transfer(old.kind, old.ranks, bytes);
      if (!estimate) {
        return fail(ErrorCode::kUsage,
                    "ddp.bucket_mb needs transfer times, but the recording has none for these "
                    "all-reduces; give a link table with --links");
      }
      graph::Collective collective = old;
      collective.bytes = bytes;
      collective.sequence = -1;
      collective.arrivals.clear();
      const OpId next = builder_.add_op({.kind = OpKind::kTransfer,
                                         .lane = graph_.ops.lane[old.transfer],
                                         .name = graph_.name(old.transfer),
                                         .step = static_cast<std::int32_t>(step),
                                         .duration = estimate->time,
                                         .recorded_start = graph_.ops.recorded_start[old.transfer],
                                         .bytes = bytes});
      for (const auto& [rank, gradients] : ranks) {
        const OpId arrival = add_arrival(rank, *gradients, closing, transfer);
        builder_.add_edge(arrival, next, EdgeKind::kCollective);
        collective.arrivals.push_back(arrival);
      }
      if (transfer != graph::kNoId) builder_.add_edge(transfer, next, EdgeKind::kOrder);
      collective.transfer = next;
      builder_.add_collective(std::move(collective));
      transfer = next;
    }
    remove_old(step, transfer);
    return {};
  }

  /// Returns one entry per bucket: the index of the gradient that closes it, and its size in bytes.
  std::vector<std::pair<std::size_t, Bytes>> fill(const std::vector<OpId>& ready) const {
    std::vector<std::pair<std::size_t, Bytes>> buckets;
    Bytes filled = 0;
    for (std::size_t i = 0; i < ready.size(); ++i) {
      filled += graph_.ops.bytes[ready[i]];
      if (filled < cap_ && i + 1 < ready.size()) continue;
      buckets.emplace_back(i, filled);
      filled = 0;
    }
    return buckets;
  }

  OpId add_arrival(std::int32_t rank, const Gradients& gradients, std::size_t closing,
                   OpId transfer_before) {
    const OpId ready = gradients.ready[closing];
    const OpId pattern = gradients.arrival.front();
    const auto step = graph_.ops.step[ready];
    const OpId launch = builder_.add_op({.kind = OpKind::kLaunch,
                                         .lane = graph_.ops.lane[ready],
                                         .name = "launch bucket",
                                         .step = step,
                                         .duration = launch_cost_,
                                         .recorded_start = graph_.ops.recorded_start[ready]});
    builder_.add_edge(ready, launch, EdgeKind::kOrder);
    for (const OutEdge& out : order_.out_edges(ready)) {
      const Edge& edge = graph_.edges[out.edge];
      if (edge.kind == EdgeKind::kOrder || edge.kind == EdgeKind::kThread) {
        builder_.add_edge(launch, out.destination, edge.kind, edge.delay, edge.inferred);
      }
    }
    const OpId arrival = builder_.add_op({.kind = OpKind::kArrive,
                                          .lane = graph_.ops.lane[pattern],
                                          .name = graph_.name(pattern),
                                          .step = step,
                                          .recorded_start = graph_.ops.recorded_start[ready]});
    builder_.add_edge(launch, arrival, EdgeKind::kLaunch);
    const OpId compute = order_.last_compute(rank, graph_.ops.recorded_start[ready]);
    if (compute != graph::kNoId) builder_.add_edge(compute, arrival, EdgeKind::kEventWait);
    if (transfer_before != graph::kNoId) {
      builder_.add_edge(transfer_before, arrival, EdgeKind::kCollective);
    } else {
      // The first bucket follows the op that the first old all-reduce followed on its stream.
      for (const Edge& edge : graph_.in_edges(pattern)) {
        if (edge.kind == EdgeKind::kOrder || edge.kind == EdgeKind::kCollective) {
          builder_.add_edge(edge.source, arrival, edge.kind, 0, edge.inferred);
        }
      }
    }
    return arrival;
  }

  bool issued_before_last_gradient(std::int64_t step, OpId op) const {
    const auto found = gradients_.find({step, graph_.rank(op)});
    if (found == gradients_.end() || graph_.ops.step[op] != step) return false;
    const OpId launch = order_.launch_of(op);
    const Nanos issued = graph_.ops.recorded_start[launch == graph::kNoId ? op : launch];
    // "<=" is correct because the last gradient does not wait for the bucket that it fills.
    return issued <= graph_.ops.recorded_start[found->second.ready.back()];
  }

  void remove_old(std::int64_t step, OpId last_transfer) {
    std::set<OpId> removed;
    for (const std::uint32_t c : old_) {
      const graph::Collective& old = graph_.collectives[c];
      if (graph_.ops.step[old.transfer] != step) continue;
      removed.insert(old.transfer);
      removed.insert(old.arrivals.begin(), old.arrivals.end());
    }
    for (const OpId op : removed) {
      if (graph_.ops.kind[op] == OpKind::kTransfer) {
        for (const OutEdge& out : order_.out_edges(op)) {
          if (removed.contains(out.destination)) continue;
          // DDP waits for its buckets only after the last gradient. An op that was issued earlier
          // did not need the old all-reduce for which it waited.
          if (issued_before_last_gradient(step, out.destination)) continue;
          const Edge& edge = graph_.edges[out.edge];
          builder_.add_edge(last_transfer, out.destination, edge.kind, edge.delay, edge.inferred);
        }
      }
      builder_.remove_op(op);
    }
  }

  const graph::Graph& graph_;
  const Bytes cap_;
  const cost::LinkModel& links_;
  const LaunchOrder order_;
  GraphBuilder builder_;
  std::map<RankStep, Gradients> gradients_;
  std::set<std::uint32_t> old_;  ///< collectives that carry gradients
  Nanos launch_cost_ = 0;        ///< host time to launch one all-reduce
};

}  // namespace

Result<graph::Graph> rebucket(const graph::Graph& graph, Bytes cap, const cost::LinkModel& links) {
  return Rebucket(graph, cap, links).run();
}

Result<graph::Graph> without_communication(const graph::Graph& graph) {
  GraphBuilder builder(graph);
  const LaunchOrder order(graph);
  std::set<OpId> launches;
  for (const graph::Collective& c : graph.collectives) {
    if (c.transfer == graph::kNoId) continue;
    std::map<std::int32_t, OpId> arrival_of;
    for (const OpId arrival : c.arrivals) {
      arrival_of[graph.rank(arrival)] = arrival;
      builder.draft().ops.duration[arrival] = 0;
      const OpId launch = order.launch_of(arrival);
      if (launch != graph::kNoId) launches.insert(launch);
    }
    // Ops that waited for the transfer now follow the arrival of their own rank.
    for (const OutEdge& out : order.out_edges(c.transfer)) {
      const auto arrival = arrival_of.find(graph.rank(out.destination));
      if (arrival == arrival_of.end()) continue;
      builder.add_edge(arrival->second, out.destination, graph.edges[out.edge].kind, 0,
                       graph.edges[out.edge].inferred);
    }
    builder.remove_op(c.transfer);
  }
  make_free(builder, graph, launches);
  return std::move(builder).finish();
}

}  // namespace weft::predict
