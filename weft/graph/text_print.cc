// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "weft/graph/edit.h"
#include "weft/graph/kind_names.h"
#include "weft/graph/text.h"

namespace weft::graph {
namespace {

using Out = std::back_insert_iterator<std::string>;

bool is_plain(std::string_view text) {
  return !text.empty() && text[0] != '@' && text[0] != '-' &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '_' || c == '.' || c == '/' || c == '-';
         });
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string word(std::string_view text) {
  return is_plain(text) ? std::string(text) : quoted(text);
}

/// Writes a time in the largest unit in which it needs no decimals.
std::string time_text(Nanos time) {
  if (time == 0) return "0";
  if (time % kSecond == 0) return fmt::format("{}s", time / kSecond);
  if (time % kMillisecond == 0) return fmt::format("{}ms", time / kMillisecond);
  if (time % kMicrosecond == 0) return fmt::format("{}us", time / kMicrosecond);
  return fmt::format("{}ns", time);
}

/// Returns how ops refer to each lane: by its name if no other lane has this name, otherwise by its
/// position.
std::vector<std::string> lane_references(const Graph& graph) {
  std::map<std::string_view, int> uses;
  for (const Lane& lane : graph.lanes) ++uses[lane.name];
  std::vector<std::string> references;
  for (std::size_t i = 0; i < graph.lanes.size(); ++i) {
    const std::string& name = graph.lanes[i].name;
    references.push_back(uses[name] == 1 ? word(name) : fmt::format("@{}", i));
  }
  return references;
}

/// Whether the steps of the ops are exactly this list. Then the text needs no `steps` line.
bool steps_follow_from_ops(const Graph& graph) {
  std::vector<std::int64_t> used(graph.ops.step.begin(), graph.ops.step.end());
  std::sort(used.begin(), used.end());
  used.erase(std::unique(used.begin(), used.end()), used.end());
  std::erase(used, -1);
  return used == graph.steps;
}

std::string edge_text(OpId source, EdgeKind kind, Nanos delay, bool inferred) {
  std::string text = fmt::format("o{}", source);
  if (delay != 0) text += "+" + time_text(delay);
  if (kind != EdgeKind::kOrder) text += fmt::format(":{}", kind_name(kind));
  return inferred ? text + "?" : text;
}

void print_edges(const Graph& graph, OpId op, Out out) {
  const char* separator = " after ";
  for (const Edge& edge : graph.in_edges(op)) {
    fmt::format_to(out, "{}{}", separator,
                   edge_text(edge.source, edge.kind, edge.delay, edge.inferred));
    separator = ", ";
  }
}

/// Prints one op. Leaves out attributes that have their default value. `print_collective_id` is
/// true if the op refers to a collective that does not list the op. Then the op's line must say so.
void print_op(const Graph& graph, OpId op, std::string_view lane, bool print_collective_id,
              Out out) {
  const Ops& ops = graph.ops;
  fmt::format_to(out, "o{}: {} {} {}", op, kind_name(ops.kind[op]), lane,
                 time_text(ops.duration[op]));
  if (ops.name[op] != 0) fmt::format_to(out, " {}", quoted(graph.name(op)));
  if (ops.bytes[op] != -1) fmt::format_to(out, " bytes={}", ops.bytes[op]);
  if (ops.recorded_start[op] != -1) {
    fmt::format_to(out, " at={}", time_text(ops.recorded_start[op]));
  }
  if (ops.recorded_duration[op] != -1) {
    fmt::format_to(out, " took={}", time_text(ops.recorded_duration[op]));
  }
  if (ops.event[op] != kNoId) fmt::format_to(out, " event={}", ops.event[op]);
  if (ops.host_events[op] != 0) fmt::format_to(out, " host_events={}", ops.host_events[op]);
  if (print_collective_id) fmt::format_to(out, " of=c{}", ops.collective[op]);
  print_edges(graph, op, out);
  fmt::format_to(out, "\n");
}

void print_collective(const Collective& c, std::size_t index, Out out) {
  fmt::format_to(out, "c{}: collective {} ranks={}", index, kind_name(c.kind), c.ranks);
  if (c.bytes != -1) fmt::format_to(out, " bytes={}", c.bytes);
  if (!c.group.empty()) fmt::format_to(out, " group={}", word(c.group));
  if (c.sequence != -1) fmt::format_to(out, " seq={}", c.sequence);
  if (c.transfer != kNoId) fmt::format_to(out, " transfer=o{}", c.transfer);
  const char* separator = " arrivals=";
  for (OpId arrival : c.arrivals) {
    fmt::format_to(out, "{}o{}", separator, arrival);
    separator = ",";
  }
  fmt::format_to(out, "\n");
}

}  // namespace

std::string_view kind_name(OpKind kind) { return kOpKindNames.at(static_cast<std::size_t>(kind)); }
std::string_view kind_name(LaneKind kind) {
  return kLaneKindNames.at(static_cast<std::size_t>(kind));
}
std::string_view kind_name(EdgeKind kind) {
  return kEdgeKindNames.at(static_cast<std::size_t>(kind));
}
std::string_view kind_name(CollectiveKind kind) {
  return kCollectiveKindNames.at(static_cast<std::size_t>(kind));
}

std::string print_text(const Graph& graph) {
  std::string text;
  const Out out(text);
  for (const Lane& lane : graph.lanes) {
    fmt::format_to(out, "lane {} {} {}\n", word(lane.name), kind_name(lane.kind),
                   lane.rank == -1 ? "-" : std::to_string(lane.rank));
  }
  if (!steps_follow_from_ops(graph)) {
    fmt::format_to(out, "steps");
    for (std::int64_t step : graph.steps) fmt::format_to(out, " {}", step);
    fmt::format_to(out, "\n");
  }
  std::vector<bool> listed(graph.size());
  for (const Collective& collective : graph.collectives) {
    if (collective.transfer != kNoId) listed[collective.transfer] = true;
    for (OpId arrival : collective.arrivals) listed[arrival] = true;
  }
  const std::vector<std::string> lanes = lane_references(graph);
  std::int32_t step = -1;
  for (OpId op = 0; op < graph.size(); ++op) {
    if (graph.ops.step[op] != step) {
      step = graph.ops.step[op];
      fmt::format_to(out, "step {}\n", step == -1 ? "none" : std::to_string(step));
    }
    const bool print_collective_id = graph.ops.collective[op] != kNoId && !listed[op];
    print_op(graph, op, lanes[graph.ops.lane[op]], print_collective_id, out);
  }
  for (std::uint32_t i = 0; i < graph.collectives.size(); ++i) {
    print_collective(graph.collectives[i], i, out);
  }
  return text;
}

namespace {

void print_changed_edge(const Graph& graph, std::string_view change, EdgeId id, Nanos delay,
                        Out out) {
  const auto after = std::upper_bound(graph.first_edge.begin(), graph.first_edge.end(), id);
  const Edge& edge = graph.edges[id];
  fmt::format_to(out, "{} o{} after {}\n", change, after - graph.first_edge.begin() - 1,
                 edge_text(edge.source, edge.kind, delay, false));
}

void print_new_op(const Edit::NewOp& op, std::size_t id, std::string_view lane, Out out) {
  fmt::format_to(out, "o{}: {} {} {}", id, kind_name(op.kind), lane, time_text(op.duration));
  if (!op.name.empty()) fmt::format_to(out, " {}", quoted(op.name));
  if (op.bytes != -1) fmt::format_to(out, " bytes={}", op.bytes);
  if (op.at != -1) fmt::format_to(out, " at={}", time_text(op.at));
  fmt::format_to(out, "\n");
}

}  // namespace

std::string print_edit(const Graph& graph, const Edit& edit) {
  std::string text;
  const Out out(text);
  for (const auto& [op, duration] : edit.durations) {
    fmt::format_to(out, "time o{} {}\n", op, time_text(duration));
  }
  for (const auto& [edge, delay] : edit.delays)
    print_changed_edge(graph, "delay", edge, delay, out);
  for (const OpId op : edit.removed_ops) fmt::format_to(out, "remove o{}\n", op);
  for (const EdgeId edge : edit.removed_edges) print_changed_edge(graph, "cut", edge, 0, out);
  const std::vector<std::string> lanes = lane_references(graph);
  std::int32_t step = -1;
  for (std::size_t i = 0; i < edit.ops.size(); ++i) {
    const Edit::NewOp& op = edit.ops[i];
    if (op.step != step) {
      step = op.step;
      fmt::format_to(out, "step {}\n", step == -1 ? "none" : std::to_string(step));
    }
    print_new_op(op, graph.size() + i, lanes[op.lane], out);
  }
  for (const Edit::NewEdge& edge : edit.edges) {
    fmt::format_to(out, "link o{} after {}\n", edge.destination,
                   edge_text(edge.source, edge.kind, edge.delay, edge.inferred));
  }
  for (std::size_t i = 0; i < edit.collectives.size(); ++i) {
    const std::size_t label = graph.collectives.size() + i;
    print_collective(edit.collectives[i].collective, label, out);
    if (edit.collectives[i].replaces == kNoId) continue;
    fmt::format_to(out, "replace c{} with c{}\n", edit.collectives[i].replaces, label);
  }
  return text;
}

}  // namespace weft::graph
