// SPDX-License-Identifier: Apache-2.0
// Changes the times of transfers and of compute for what-ifs. Every transfer time is divided into a
// fixed part (latency) and the rest (bandwidth). The link model estimates the fixed part. Without
// an estimate, the whole time counts as bandwidth.
#include "weft/predict/changes.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace weft::predict {
namespace {

using graph::CollectiveKind;
using graph::OpId;
using graph::OpKind;

Nanos times(Nanos time, double factor) { return std::llround(static_cast<double>(time) * factor); }

/// Returns the part of a recorded transfer time that does not depend on bandwidth, or 0 if it is
/// unknown.
Nanos fixed_part(const graph::Graph& graph, const cost::LinkModel& links,
                 const graph::Collective& c) {
  const auto estimate = c.bytes >= 0 ? links.transfer(c.kind, c.ranks, c.bytes) : std::nullopt;
  return estimate ? std::min(graph.ops.duration[c.transfer], estimate->latency) : 0;
}

/// A number of workers is refused if it is more doublings than this from all measurements. Each
/// doubling makes the error bar wider (predict.cc). After four, the bar is about a third of the
/// step on each side, so its ends differ by a factor of two. Such an answer supports no decision.
constexpr double kMostDoublings = 4;

double doublings_between(std::int32_t a, std::int32_t b) {
  return std::abs(std::log2(static_cast<double>(a) / static_cast<double>(b)));
}

std::int32_t count_ranks(const graph::Graph& graph) {
  std::set<std::int32_t> ranks;
  for (const graph::Lane& lane : graph.lanes) {
    if (lane.rank >= 0) ranks.insert(lane.rank);
  }
  return static_cast<std::int32_t>(ranks.size());
}

/// False for collectives that take no time or do not depend on the number of workers.
bool depends_on_workers(const graph::Collective& c) {
  return c.transfer != graph::kNoId && (c.ranks > 1 || c.kind == CollectiveKind::kPushPull);
}

/// The measured number of ranks that is nearest to `workers`. If the recording is as near as a
/// table, it is the recorded number.
std::int32_t nearest_measured(const cost::LinkModel& links, const graph::Collective& c,
                              std::int32_t workers) {
  const auto table = c.bytes >= 0 ? links.nearest_table(c.kind, workers) : std::nullopt;
  const bool nearer =
      table && doublings_between(*table, workers) < doublings_between(c.ranks, workers);
  return nearer ? *table : c.ranks;
}

/// The cost of a ring algorithm.
struct Ring {
  double volume = 1;  ///< bytes that the link of each member moves / bytes of the array
  double rounds = 1;
};
/// An all-reduce is a reduce-scatter followed by an all-gather. The model assumes that broadcast,
/// reduce and barriers use a tree.
Ring ring(CollectiveKind kind, std::int32_t ranks) {
  const double n = ranks;
  switch (kind) {
    case CollectiveKind::kAllReduce:
      return {2 * (n - 1) / n, 2 * (n - 1)};
    case CollectiveKind::kAllGather:
    case CollectiveKind::kReduceScatter:
    case CollectiveKind::kAllToAll:
    case CollectiveKind::kGather:
    case CollectiveKind::kScatter:
      return {(n - 1) / n, n - 1};
    default:
      return {1, std::ceil(std::log2(n))};
  }
}

}  // namespace

void change_network(graph::Graph& graph, const cost::LinkModel& links, double bandwidth,
                    double latency) {
  for (const graph::Collective& c : graph.collectives) {
    if (c.transfer == graph::kNoId) continue;
    const Nanos fixed = fixed_part(graph, links, c);
    Nanos& time = graph.ops.duration[c.transfer];
    time = times(fixed, latency) + times(time - fixed, 1 / bandwidth);
  }
}

void change_compute(graph::Graph& graph, std::int32_t rank, double factor,
                    const std::set<std::int32_t>& on_host) {
  for (OpId op = 0; op < graph.size(); ++op) {
    const std::int32_t own = graph.rank(op);
    if (own < 0 || (rank >= 0 && own != rank)) continue;
    const OpKind kind = graph.ops.kind[op];
    const bool host_work =
        on_host.contains(own) &&
        (kind == OpKind::kHost || kind == OpKind::kLaunch || kind == OpKind::kSync);
    if (!host_work && kind != OpKind::kKernel) continue;
    graph.ops.duration[op] = times(graph.ops.duration[op], 1 / factor);
    if (!on_host.contains(own)) continue;
    // A delay after an op of another rank is not this rank's compute.
    for (graph::EdgeId e = graph.first_edge[op]; e < graph.first_edge[op + 1]; ++e) {
      graph::Edge& edge = graph.edges[e];
      if (graph.rank(edge.source) == own) edge.delay = times(edge.delay, 1 / factor);
    }
  }
}

WorkerEvidence worker_evidence(const graph::Graph& graph, const cost::LinkModel& links,
                               std::int32_t workers) {
  const std::int32_t recorded = count_ranks(graph);
  WorkerEvidence furthest{workers, 0};
  for (const graph::Collective& c : graph.collectives) {
    if (!depends_on_workers(c)) continue;
    // Every worker has its own exchange with a server, so the recording shows all its workers.
    const std::int32_t measured =
        c.kind == CollectiveKind::kPushPull ? recorded : nearest_measured(links, c, workers);
    const double distance = doublings_between(measured, workers);
    if (distance > furthest.doublings) furthest = {measured, distance};
  }
  return furthest;
}

Status change_workers(graph::Graph& graph, const cost::LinkModel& links, std::int32_t workers,
                      std::int32_t far_from_servers) {
  const std::int32_t ranks = count_ranks(graph);
  const auto refuse = [&](const std::string& why) {
    return fail(ErrorCode::kUsage, "workers=" + std::to_string(workers) +
                                       " cannot be answered from this recording: " + why);
  };
  bool any = false;
  for (const graph::Collective& c : graph.collectives) {
    if (!depends_on_workers(c)) continue;
    any = true;
    if (c.kind == CollectiveKind::kPushPull) continue;
    if (c.ranks < ranks || c.kind == CollectiveKind::kSendRecv) {
      return refuse("its ranks communicate in groups of " + std::to_string(c.ranks) +
                    ", so it is not plain data-parallel training");
    }
  }
  if (!any) return refuse("it contains no communication between its ranks");
  const WorkerEvidence evidence = worker_evidence(graph, links, workers);
  if (evidence.doublings > kMostDoublings) {
    const auto factor = static_cast<std::int32_t>(std::exp2(kMostDoublings));
    const bool more = workers > evidence.ranks;
    const std::int32_t near = more ? (workers + factor - 1) / factor : workers * factor;
    return refuse(
        "transfers were measured with " + std::to_string(evidence.ranks) +
        " ranks, and Weft extrapolates by at most a factor of " + std::to_string(factor) +
        ", so record the job, or measure a link table for --links (weft calibrate), with " +
        (more ? "at least " : "at most ") + std::to_string(near) + " ranks");
  }
  // The model assumes that new workers run on other hosts than the servers. So each new worker uses
  // the servers' links.
  const auto now = static_cast<double>(std::max(1, far_from_servers));
  const double share = std::max(1.0, now + workers - ranks) / now;
  for (graph::Collective& c : graph.collectives) {
    if (!depends_on_workers(c)) continue;
    Nanos& time = graph.ops.duration[c.transfer];
    Nanos fixed = fixed_part(graph, links, c);
    if (c.kind == CollectiveKind::kPushPull) {
      time = fixed + times(time - fixed, share);
    } else {
      const std::int32_t measured = nearest_measured(links, c, workers);
      if (measured != c.ranks) {
        const cost::LinkModel::Estimate table = *links.transfer(c.kind, measured, c.bytes);
        time = table.time;
        fixed = table.latency;
      }
      const Ring was = ring(c.kind, measured), is = ring(c.kind, workers);
      time = times(fixed, is.rounds / was.rounds) + times(time - fixed, is.volume / was.volume);
    }
    if (c.ranks > 1) c.ranks = workers;
  }
  return {};
}

}  // namespace weft::predict
