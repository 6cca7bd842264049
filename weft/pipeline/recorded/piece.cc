// SPDX-License-Identifier: Apache-2.0
// make() replays the ops of a piece in topological order. For each op it computes two times: how
// long after the host clock, and how long after the device clock, the op ends at the earliest. The
// maxima over all host ops and over all kernels are the four entries of the piece.
#include "weft/pipeline/recorded/piece.h"

#include <algorithm>

#include "weft/graph/names.h"

namespace weft::pipeline::recorded {
namespace {

using graph::EdgeKind;
using graph::LaneKind;
using graph::OpId;
using graph::OpKind;

bool is_compute(OpKind kind) { return kind == OpKind::kKernel || kind == OpKind::kCopy; }

/// Addition in which kNever stays kNever.
Nanos join(Nanos a, Nanos b) { return a <= kNever / 2 || b <= kNever / 2 ? kNever : a + b; }

}  // namespace

Piece then(const Piece& a, const Piece& b) {
  return {.host_host = std::max(join(a.host_host, b.host_host), join(a.host_device, b.device_host)),
          .host_device =
              std::max(join(a.host_host, b.host_device), join(a.host_device, b.device_device)),
          .device_host =
              std::max(join(a.device_host, b.host_host), join(a.device_device, b.device_host)),
          .device_device =
              std::max(join(a.device_device, b.device_device), join(a.device_host, b.host_device)),
          .work = a.work + b.work};
}

Piece host_only(Nanos time) { return {.host_host = time}; }

PieceMaker::PieceMaker(const graph::Graph& graph)
    : graph_(graph), member_(graph.size()), clocks_(graph.size()) {
  const auto launch_of = [&](OpId op) -> OpId {
    if (!is_compute(graph.ops.kind[op])) return graph::kNoId;
    for (const graph::Edge& edge : graph.in_edges(op)) {
      if (edge.kind == EdgeKind::kLaunch) return edge.source;
    }
    return graph::kNoId;
  };
  // Build a table of the launched ops per host op, in the form of a compressed sparse matrix: count
  // the ops per row, sum up the counts to get the start of each row, then fill in the rows.
  first_launched_.assign(graph.size() + 1, 0);
  for (OpId op = 0; op < graph.size(); ++op) {
    if (const OpId launch = launch_of(op); launch != graph::kNoId) ++first_launched_[launch + 1];
  }
  for (std::size_t i = 0; i < graph.size(); ++i) first_launched_[i + 1] += first_launched_[i];
  launched_.resize(first_launched_.back());
  std::vector<std::uint32_t> next(first_launched_.begin(), first_launched_.end() - 1);
  for (OpId op = 0; op < graph.size(); ++op) {
    if (const OpId launch = launch_of(op); launch != graph::kNoId) launched_[next[launch]++] = op;
  }
}

std::span<const OpId> PieceMaker::launched(OpId host_op) const {
  return {launched_.data() + first_launched_[host_op],
          launched_.data() + first_launched_[host_op + 1]};
}

/// Returns when an op can start, relative to the host clock and to the device clock before the
/// piece. An edge from inside the piece adds its delay to the clocks of its source. An edge from
/// outside starts at one of the two clocks, depending on whether its source is on the host or is
/// compute; edges from other ranks are messages and are left out.
PieceMaker::Clocks PieceMaker::enter(OpId op) const {
  const graph::Ops& ops = graph_.ops;
  const bool on_host = graph_.lanes[ops.lane[op]].kind == LaneKind::kHost;
  // A wait for a free place in the launch queue depends on the order that was recorded: leave it
  // out.
  const bool queue = graph::is_queue_wait(graph_, op);
  Clocks in;
  for (const graph::Edge& edge : graph_.in_edges(op)) {
    if (queue && edge.kind == EdgeKind::kHostSync) continue;
    const Nanos delay = queue && ops.kind[op] == OpKind::kSync ? 0 : edge.delay;
    if (member_[edge.source]) {
      in.host = std::max(in.host, join(clocks_[edge.source].host, delay));
      in.device = std::max(in.device, join(clocks_[edge.source].device, delay));
      continue;
    }
    if (graph_.rank(edge.source) != graph_.rank(op)) continue;
    const bool from_host = graph_.lanes[ops.lane[edge.source]].kind == LaneKind::kHost;
    if (on_host && from_host && edge.kind != EdgeKind::kData) in.host = std::max(in.host, delay);
    if (is_compute(ops.kind[edge.source])) in.device = std::max(in.device, delay);
  }
  // Every op also waits for its own clock: the thread or the stream runs in order.
  if (on_host) in.host = std::max<Nanos>(in.host, 0);
  if (is_compute(ops.kind[op])) in.device = std::max<Nanos>(in.device, 0);
  return in;
}

Piece PieceMaker::make(std::span<const OpId> host_ops) {
  std::vector<OpId> members;
  for (const OpId op : host_ops) {
    members.push_back(op);
    members.insert(members.end(), launched(op).begin(), launched(op).end());
  }
  std::sort(members.begin(), members.end());  // ids are a topological order
  for (const OpId op : members) member_[op] = true;
  Piece piece;
  for (const OpId op : members) {
    Clocks clocks = enter(op);
    clocks.host = join(clocks.host, graph_.ops.duration[op]);
    clocks.device = join(clocks.device, graph_.ops.duration[op]);
    clocks_[op] = clocks;
    if (!is_compute(graph_.ops.kind[op])) {
      piece.host_host = std::max(piece.host_host, clocks.host);
      piece.device_host = std::max(piece.device_host, clocks.device);
      continue;
    }
    piece.host_device = std::max(piece.host_device, clocks.host);
    piece.device_device = std::max(piece.device_device, clocks.device);
    piece.work += graph_.ops.duration[op];
  }
  piece.work = std::min(piece.work, piece.device_device);  // kernels of several streams may overlap
  for (const OpId op : members) member_[op] = false;
  return piece;
}

}  // namespace weft::pipeline::recorded
