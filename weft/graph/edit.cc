// SPDX-License-Identifier: Apache-2.0
#include "weft/graph/edit.h"

#include <fmt/format.h>

#include "weft/base/check.h"
#include "weft/graph/builder.h"

namespace weft::graph {
namespace {

tl::unexpected<Error> wrong(std::string message) {
  return fail(ErrorCode::kBadInput, "edit: " + std::move(message));
}

Status check_collective(const Collective& collective, OpId ops) {
  if (collective.transfer != kNoId && collective.transfer >= ops) {
    return wrong(fmt::format("a collective has the unknown transfer o{}", collective.transfer));
  }
  for (const OpId arrival : collective.arrivals) {
    if (arrival >= ops)
      return wrong(fmt::format("a collective has the unknown arrival o{}", arrival));
  }
  return {};
}

}  // namespace

Edit changed_times(const Graph& before, const Graph& after) {
  WEFT_CHECK(before.size() == after.size() && before.edges.size() == after.edges.size());
  Edit edit;
  for (OpId op = 0; op < after.size(); ++op) {
    const Nanos duration = after.ops.duration[op];
    if (duration != before.ops.duration[op]) edit.durations.emplace_back(op, duration);
  }
  for (EdgeId e = 0; e < after.edges.size(); ++e) {
    const Nanos delay = after.edges[e].delay;
    if (delay != before.edges[e].delay) edit.delays.emplace_back(e, delay);
  }
  return edit;
}

Status check(const Graph& graph, const Edit& edit) {
  const auto old = static_cast<OpId>(graph.size());
  const auto all = static_cast<OpId>(old + edit.ops.size());
  const auto edges = static_cast<EdgeId>(graph.edges.size());
  for (const auto& [op, duration] : edit.durations) {
    if (op >= old) return wrong(fmt::format("the graph has no op o{}", op));
    if (duration < 0) return wrong(fmt::format("the duration of o{} is negative", op));
  }
  for (const auto& [edge, delay] : edit.delays) {
    if (edge >= edges) return wrong(fmt::format("the graph has no edge {}", edge));
    if (delay < 0) return wrong(fmt::format("the delay of edge {} is negative", edge));
  }
  for (const OpId op : edit.removed_ops) {
    if (op >= old) return wrong(fmt::format("the graph has no op o{}", op));
  }
  for (const EdgeId edge : edit.removed_edges) {
    if (edge >= edges) return wrong(fmt::format("the graph has no edge {}", edge));
  }
  for (const Edit::NewOp& op : edit.ops) {
    if (op.lane >= graph.lanes.size()) return wrong(fmt::format("there is no lane @{}", op.lane));
    if (op.duration < 0) return wrong("the duration of a new op is negative");
  }
  for (const Edit::NewEdge& edge : edit.edges) {
    if (edge.source >= all || edge.destination >= all) {
      return wrong(
          fmt::format("a new edge o{} -> o{} has an unknown op", edge.source, edge.destination));
    }
    if (edge.delay < 0) return wrong("the delay of a new edge is negative");
  }
  for (const Edit::NewCollective& change : edit.collectives) {
    if (change.replaces != kNoId && change.replaces >= graph.collectives.size()) {
      return wrong(fmt::format("the graph has no collective c{}", change.replaces));
    }
    WEFT_TRY(check_collective(change.collective, all));
  }
  return {};
}

Result<Graph> apply(const Graph& graph, const Edit& edit, std::vector<OpId>* new_ids) {
  WEFT_TRY(check(graph, edit));
  GraphBuilder builder(graph);
  for (const auto& [op, duration] : edit.durations) builder.draft().ops.duration[op] = duration;
  for (const auto& [edge, delay] : edit.delays) builder.set_delay(edge, delay);
  for (const EdgeId edge : edit.removed_edges) builder.remove_edge(edge);
  for (const OpId op : edit.removed_ops) builder.remove_op(op);
  for (const Edit::NewOp& op : edit.ops) {
    builder.add_op({.kind = op.kind,
                    .lane = op.lane,
                    .name = op.name,
                    .step = op.step,
                    .duration = op.duration,
                    .recorded_start = op.at,
                    .bytes = op.bytes});
  }
  for (const Edit::NewEdge& edge : edit.edges) {
    builder.add_edge(edge.source, edge.destination, edge.kind, edge.delay, edge.inferred);
  }
  // Ops of replaced collectives may leave them. assemble() then refers each op to the collective
  // that lists it.
  for (const Edit::NewCollective& change : edit.collectives) {
    if (change.replaces == kNoId) continue;
    const Collective& old = graph.collectives[change.replaces];
    if (old.transfer != kNoId) builder.draft().ops.collective[old.transfer] = kNoId;
    for (const OpId arrival : old.arrivals) builder.draft().ops.collective[arrival] = kNoId;
  }
  for (const Edit::NewCollective& change : edit.collectives) {
    if (change.replaces == kNoId) {
      builder.add_collective(change.collective);
    } else {
      builder.draft().collectives[change.replaces] = change.collective;
    }
  }
  return std::move(builder).finish(new_ids);
}

}  // namespace weft::graph
