// SPDX-License-Identifier: Apache-2.0
#include "weft/graph/builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>

#include "weft/base/check.h"

namespace weft::graph {
namespace {

constexpr std::size_t kCycleOpsNamed = 8;

template <class T>
void reorder(std::vector<T>& column, const std::vector<OpId>& order) {
  std::vector<T> sorted;
  sorted.reserve(order.size());
  for (OpId op : order) sorted.push_back(column[op]);
  column = std::move(sorted);
}

/// Items grouped by row, in the compressed-row layout. The items of row `r` are items[first[r] ..
/// first[r + 1]), in the order in which they were added.
struct Rows {
  std::vector<std::uint32_t> first;
  std::vector<std::uint32_t> items;
};

template <class RowOf>
Rows group_by_row(std::size_t rows, std::size_t items, RowOf row_of) {
  Rows grouped{std::vector<std::uint32_t>(rows + 1), std::vector<std::uint32_t>(items)};
  for (std::uint32_t i = 0; i < items; ++i) ++grouped.first[row_of(i) + 1];
  std::partial_sum(grouped.first.begin(), grouped.first.end(), grouped.first.begin());
  std::vector<std::uint32_t> next(grouped.first.begin(), grouped.first.end() - 1);
  for (std::uint32_t i = 0; i < items; ++i) grouped.items[next[row_of(i)]++] = i;
  return grouped;
}

/// Finds a cycle. Some ops never became ready. For each of them, `left[op]` is one predecessor that
/// never became ready either. Every such op has such a predecessor, so a walk along `left` must
/// come back to an op that it has already visited. This op is on a cycle.
tl::unexpected<Error> cycle_error(const Graph& graph, OpId from, const std::vector<OpId>& left) {
  std::vector<bool> seen(graph.size());
  OpId op = from;
  while (!seen[op]) {
    seen[op] = true;
    op = left[op];
  }
  std::vector<OpId> cycle{op};
  for (OpId p = left[op]; p != op; p = left[p]) cycle.push_back(p);
  std::reverse(cycle.begin(), cycle.end());
  std::string path;
  for (std::size_t i = 0; i < cycle.size() && i < kCycleOpsNamed; ++i) {
    path += fmt::format("{} \"{}\" -> ", cycle[i], graph.name(cycle[i]));
  }
  if (cycle.size() > kCycleOpsNamed) path += "... -> ";
  return fail(ErrorCode::kBadInput, fmt::format("{} ops wait for each other in a cycle: {}{}",
                                                cycle.size(), path, cycle[0]));
}

}  // namespace

GraphBuilder::GraphBuilder(const Graph& graph) : graph_(graph), removed_(graph.size()) {
  edges_.reserve(graph.edges.size());
  for (OpId op = 0; op < graph.size(); ++op) {
    for (const Edge& edge : graph.in_edges(op)) edges_.push_back({op, edge});
  }
  graph_.edges.clear();
  graph_.first_edge.clear();
}

LaneId GraphBuilder::add_lane(LaneKind kind, std::int32_t rank, std::string name) {
  graph_.lanes.push_back({kind, rank, std::move(name)});
  return static_cast<LaneId>(graph_.lanes.size() - 1);
}

OpId GraphBuilder::add_op(const OpSpec& spec) {
  WEFT_CHECK(spec.lane < graph_.lanes.size());
  WEFT_CHECK(graph_.size() < kNoId - 1);
  Ops& ops = graph_.ops;
  ops.kind.push_back(spec.kind);
  ops.lane.push_back(spec.lane);
  ops.name.push_back(graph_.names.intern(spec.name));
  ops.step.push_back(spec.step);
  ops.duration.push_back(spec.duration);
  ops.recorded_start.push_back(spec.recorded_start);
  ops.recorded_duration.push_back(spec.recorded_duration);
  ops.bytes.push_back(spec.bytes);
  ops.event.push_back(spec.event);
  ops.collective.push_back(spec.collective);
  ops.host_events.push_back(spec.host_events);
  removed_.push_back(false);
  return static_cast<OpId>(ops.size() - 1);
}

void GraphBuilder::add_edge(OpId source, OpId destination, EdgeKind kind, Nanos delay,
                            bool inferred) {
  WEFT_CHECK(source < graph_.size() && destination < graph_.size());
  WEFT_CHECK(delay >= 0);
  WEFT_CHECK(edges_.size() < kNoId - 1);
  edges_.push_back({destination, {source, kind, inferred, delay}});
}

std::uint32_t GraphBuilder::add_collective(Collective collective) {
  graph_.collectives.push_back(std::move(collective));
  return static_cast<std::uint32_t>(graph_.collectives.size() - 1);
}

void GraphBuilder::remove_op(OpId op) {
  WEFT_CHECK(op < graph_.size());
  removed_[op] = true;
}

void GraphBuilder::set_delay(EdgeId edge, Nanos delay) {
  WEFT_CHECK(edge < edges_.size() && delay >= 0);
  edges_[edge].edge.delay = delay;
}

void GraphBuilder::remove_edge(EdgeId edge) {
  WEFT_CHECK(edge < edges_.size());
  edges_[edge].destination = kNoId;
}

void GraphBuilder::drop_removed_edges() {
  std::erase_if(edges_, [&](const FullEdge& e) {
    return e.destination == kNoId || removed_[e.edge.source] || removed_[e.destination];
  });
}

Graph GraphBuilder::assemble(const std::vector<OpId>& order, std::vector<OpId>* new_ids) && {
  std::vector<OpId> renamed(graph_.size(), kNoId);
  for (OpId i = 0; i < order.size(); ++i) renamed[order[i]] = i;

  Ops& ops = graph_.ops;
  for (std::uint32_t i = 0; i < graph_.collectives.size(); ++i) {
    Collective& collective = graph_.collectives[i];
    if (collective.transfer != kNoId) {
      WEFT_CHECK(collective.transfer < renamed.size());
      ops.collective[collective.transfer] = i;
      collective.transfer = renamed[collective.transfer];
    }
    for (OpId& arrival : collective.arrivals) {
      WEFT_CHECK(arrival < renamed.size());
      ops.collective[arrival] = i;
      arrival = renamed[arrival];
    }
    std::erase(collective.arrivals, kNoId);
  }
  // A removed arrival has no new id, so std::erase() above removes it from the collective. Columns
  // are permuted one at a time, so there is never a copy of more than one column.
  reorder(ops.kind, order);
  reorder(ops.lane, order);
  reorder(ops.name, order);
  reorder(ops.step, order);
  reorder(ops.duration, order);
  reorder(ops.recorded_start, order);
  reorder(ops.recorded_duration, order);
  reorder(ops.bytes, order);
  reorder(ops.event, order);
  reorder(ops.collective, order);
  reorder(ops.host_events, order);

  const Rows by_destination = group_by_row(
      order.size(), edges_.size(), [&](std::uint32_t e) { return renamed[edges_[e].destination]; });
  graph_.first_edge = by_destination.first;
  graph_.edges.clear();
  graph_.edges.reserve(edges_.size());
  for (std::uint32_t e : by_destination.items) {
    graph_.edges.push_back(edges_[e].edge);
    graph_.edges.back().source = renamed[edges_[e].edge.source];
  }
  if (new_ids) *new_ids = std::move(renamed);
  return std::move(graph_);
}

Result<Graph> GraphBuilder::finish_in_order(std::vector<OpId>* new_ids) && {
  drop_removed_edges();
  for (const FullEdge& e : edges_) {
    if (e.edge.source >= e.destination) {
      return fail(ErrorCode::kBadInput, fmt::format("edge {} -> {} is against the order of ops",
                                                    e.edge.source, e.destination));
    }
  }
  std::vector<OpId> order;
  order.reserve(graph_.size());
  for (OpId op = 0; op < graph_.size(); ++op) {
    if (!removed_[op]) order.push_back(op);
  }
  return std::move(*this).assemble(order, new_ids);
}

Result<Graph> GraphBuilder::finish(std::vector<OpId>* new_ids) && {
  drop_removed_edges();
  const std::size_t n = graph_.size();
  const Rows by_source =
      group_by_row(n, edges_.size(), [&](std::uint32_t e) { return edges_[e].edge.source; });
  std::vector<std::uint32_t> waits_for(n);
  for (const FullEdge& e : edges_) ++waits_for[e.destination];

  // Kahn's algorithm with a priority queue. The key of an op is the latest recorded start on any
  // path to the op. So keys never decrease along the order. If a finished graph is finished again,
  // it keeps its order.
  std::vector<Nanos> key = graph_.ops.recorded_start;
  using Ready = std::pair<Nanos, OpId>;
  std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready;
  std::size_t remaining = 0;
  for (OpId op = 0; op < n; ++op) {
    if (removed_[op]) continue;
    ++remaining;
    if (waits_for[op] == 0) ready.emplace(key[op], op);
  }
  std::vector<OpId> order;
  order.reserve(remaining);
  while (!ready.empty()) {
    const OpId op = ready.top().second;
    ready.pop();
    order.push_back(op);
    for (std::uint32_t i = by_source.first[op]; i < by_source.first[op + 1]; ++i) {
      const OpId next = edges_[by_source.items[i]].destination;
      key[next] = std::max(key[next], key[op]);
      if (--waits_for[next] == 0) ready.emplace(key[next], next);
    }
  }
  if (order.size() == remaining) return std::move(*this).assemble(order, new_ids);

  // Some ops never became ready: they are on a cycle or behind a cycle. To find a cycle, the search
  // goes from each op to its predecessor with the lowest id, so that the message is deterministic.
  std::vector<OpId> left(n, kNoId);
  OpId stuck = kNoId;
  for (const FullEdge& e : edges_) {
    if (waits_for[e.destination] == 0 || waits_for[e.edge.source] == 0) continue;
    left[e.destination] = std::min(left[e.destination], e.edge.source);
    stuck = std::min(stuck, e.destination);
  }
  return cycle_error(graph_, stuck, left);
}

}  // namespace weft::graph
