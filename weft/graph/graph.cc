// SPDX-License-Identifier: Apache-2.0
#include "weft/graph/graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace weft::graph {
namespace {

/// About 146 years: half of what Nanos can hold.
constexpr Nanos kTimeLimit = std::numeric_limits<Nanos>::max() / 2;
constexpr const char* kTooLong = "durations and delays add up to more than 146 years";

tl::unexpected<Error> broken(std::string message) {
  return fail(ErrorCode::kBadInput, "broken graph: " + std::move(message));
}

Status verify_columns(const Graph& graph) {
  const Ops& ops = graph.ops;
  const std::size_t n = ops.size();
  if (n >= kNoId) return broken(fmt::format("{} ops are too many for 32-bit ids", n));
  const std::pair<const char*, std::size_t> columns[] = {
      {"lane", ops.lane.size()},
      {"name", ops.name.size()},
      {"step", ops.step.size()},
      {"duration", ops.duration.size()},
      {"recorded_start", ops.recorded_start.size()},
      {"recorded_duration", ops.recorded_duration.size()},
      {"bytes", ops.bytes.size()},
      {"event", ops.event.size()},
      {"collective", ops.collective.size()},
      {"host_events", ops.host_events.size()},
  };
  for (const auto& [name, size] : columns) {
    if (size != n) return broken(fmt::format("column {} has {} entries, not {}", name, size, n));
  }
  if (!graph.steps.empty() && graph.steps.front() < 0) return broken("a step is negative");
  for (std::size_t i = 1; i < graph.steps.size(); ++i) {
    if (graph.steps[i - 1] >= graph.steps[i]) {
      return broken(fmt::format("step {} follows step {}, but step numbers must ascend",
                                graph.steps[i], graph.steps[i - 1]));
    }
  }
  return {};
}

Status verify_op(const Graph& graph, OpId op) {
  const Ops& ops = graph.ops;
  if (ops.kind[op] > OpKind::kPull) return broken(fmt::format("op {} has no known kind", op));
  if (ops.lane[op] >= graph.lanes.size()) {
    return broken(fmt::format("op {} is on lane {}, but the number of lanes is {}", op,
                              ops.lane[op], graph.lanes.size()));
  }
  if (ops.name[op] >= graph.names.size()) {
    return broken(fmt::format("op {} has name id {}, but the number of names is {}", op,
                              ops.name[op], graph.names.size()));
  }
  if (ops.duration[op] < 0) {
    return broken(fmt::format("op {} lasts {} ns", op, ops.duration[op]));
  }
  if (ops.collective[op] != kNoId && ops.collective[op] >= graph.collectives.size()) {
    return broken(fmt::format("op {} belongs to collective {}, but the number of collectives is {}",
                              op, ops.collective[op], graph.collectives.size()));
  }
  return {};
}

/// Checks the edges. Also checks that the sum of all durations and delays fits into 64-bit
/// nanoseconds. No path can be longer than this sum, so replay can add times without checking for
/// overflow.
Status verify_edges(const Graph& graph) {
  const std::size_t n = graph.size();
  if (graph.edges.size() >= kNoId) return broken("there are too many edges for 32-bit ids");
  if (n == 0 && graph.first_edge.empty() && graph.edges.empty()) return {};
  if (graph.first_edge.size() != n + 1 || graph.first_edge.front() != 0 ||
      graph.first_edge.back() != graph.edges.size()) {
    return broken("first_edge does not cover all edges");
  }
  Nanos total = 0;
  const auto add = [&total](Nanos time) {
    if (time > kTimeLimit - total) return false;
    total += time;
    return true;
  };
  for (OpId op = 0; op < n; ++op) {
    if (graph.first_edge[op] > graph.first_edge[op + 1] ||
        graph.first_edge[op + 1] > graph.edges.size()) {
      return broken(fmt::format("first_edge goes backwards at op {}", op));
    }
    if (!add(graph.ops.duration[op])) return broken(kTooLong);
    for (const Edge& edge : graph.in_edges(op)) {
      if (edge.source >= op) {
        return broken(fmt::format("edge {} -> {} is against the order of ids", edge.source, op));
      }
      if (edge.kind > EdgeKind::kData) {
        return broken(fmt::format("edge {} -> {} has no known kind", edge.source, op));
      }
      if (edge.delay < 0) {
        return broken(
            fmt::format("edge {} -> {} has a delay of {} ns", edge.source, op, edge.delay));
      }
      if (!add(edge.delay)) return broken(kTooLong);
    }
  }
  return {};
}

bool moves_data(OpKind kind) {
  return kind == OpKind::kTransfer || kind == OpKind::kPush || kind == OpKind::kPull;
}

/// Checks one collective. `awaited` is scratch space with one entry per op: the last collective
/// whose transfer waits for the op. All calls use the same array, so the whole check stays linear.
Status verify_collective(const Graph& graph, std::uint32_t index,
                         std::vector<std::uint32_t>& awaited) {
  const Collective& collective = graph.collectives[index];
  const auto member = [&](OpId op) {
    return op < graph.size() && graph.ops.collective[op] == index;
  };
  if (collective.kind > CollectiveKind::kPushPull) {
    return broken(fmt::format("collective {} has no known kind", index));
  }
  const OpId transfer = collective.transfer;
  if (transfer != kNoId && !(member(transfer) && moves_data(graph.ops.kind[transfer]))) {
    return broken(fmt::format("collective {}: op {} is not its transfer", index, transfer));
  }
  if (transfer != kNoId) {
    for (const Edge& edge : graph.in_edges(transfer)) awaited[edge.source] = index;
  }
  for (OpId arrival : collective.arrivals) {
    if (!member(arrival) || graph.ops.kind[arrival] != OpKind::kArrive) {
      return broken(fmt::format("collective {}: op {} is not one of its arrivals", index, arrival));
    }
    if (transfer != kNoId && awaited[arrival] != index) {
      return broken(fmt::format("collective {}: transfer {} does not wait for arrival {}", index,
                                transfer, arrival));
    }
  }
  return {};
}

}  // namespace

Status verify(const Graph& graph) {
  WEFT_TRY(verify_columns(graph));
  for (OpId op = 0; op < graph.size(); ++op) WEFT_TRY(verify_op(graph, op));
  WEFT_TRY(verify_edges(graph));
  std::size_t step_index = 0;
  for (OpId op = 0; op < graph.size(); ++op) {
    const std::int64_t step = graph.ops.step[op];
    if (step == -1) continue;
    // Neighbouring ops mostly belong to the same step, so try the last step found first.
    if (step_index < graph.steps.size() && graph.steps[step_index] == step) continue;
    const auto found = std::lower_bound(graph.steps.begin(), graph.steps.end(), step);
    if (found == graph.steps.end() || *found != step) {
      return broken(fmt::format("op {} belongs to step {}, which is not listed", op, step));
    }
    step_index = static_cast<std::size_t>(found - graph.steps.begin());
  }
  std::vector<std::uint32_t> awaited(graph.size(), kNoId);
  for (std::uint32_t i = 0; i < graph.collectives.size(); ++i) {
    WEFT_TRY(verify_collective(graph, i, awaited));
  }
  return {};
}

}  // namespace weft::graph
