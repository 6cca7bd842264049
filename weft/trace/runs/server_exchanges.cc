// SPDX-License-Identifier: Apache-2.0
// Finds the exchanges in the events for _Send and _Recv nodes. TensorFlow cuts a graph that runs on
// several hosts at the edges between the hosts, and replaces each such edge by a _Send node and a
// _Recv node. A profile has an event for each of these nodes. The transfer begins when the sender
// has the data and the receiver has asked for it. The transfer ends when the receiver has the data.
#include "weft/trace/runs/server_exchanges.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

#include "weft/base/decimal.h"

namespace weft::trace {
namespace {

constexpr std::string_view kSend = ":_Send";
constexpr std::string_view kReceive = ":_Recv";
/// Suffix of the names of the lanes that add_exchanges() adds.
constexpr std::string_view kOfServers = " (parameter servers)";
constexpr const char* kPull = "pull";
constexpr const char* kPush = "push";

/// One end of an exchange. TensorFlow names the two nodes of an edge with consecutive numbers, the
/// _Send first: "mul/_19" and "mul/_20".
struct Node {
  std::int64_t execution = -1;  // number of the function's execution, the same on both sides
  std::string edge;
  std::int64_t number = -1;

  bool operator<(const Node& other) const {
    return std::tie(execution, edge, number) < std::tie(other.execution, other.edge, other.number);
  }
};

std::optional<Node> node_of(const RankTrace& trace, std::size_t event, std::string_view type) {
  std::string_view name = trace.names.text(trace.events.name[event]);
  if (!name.ends_with(type)) return std::nullopt;
  name.remove_suffix(type.size());
  const std::size_t mark = name.rfind("/_");
  if (mark == std::string_view::npos) return std::nullopt;
  const auto number = parse_int(name.substr(mark + 2));
  if (!number || *number < 0) return std::nullopt;
  return Node{trace.events.external_id[event], std::string(name.substr(0, mark)), *number};
}

std::map<Node, std::uint32_t> nodes_of(const RankTrace& trace, std::string_view type) {
  std::map<Node, std::uint32_t> nodes;
  for (std::uint32_t i = 0; i < trace.events.size(); ++i) {
    if (auto node = node_of(trace, i, type)) nodes.emplace(std::move(*node), i);
  }
  return nodes;
}

/// Returns the event of the _Send node that belongs to this _Recv node; kNone if it was not
/// recorded.
std::uint32_t sender_of(const std::map<Node, std::uint32_t>& sends, Node receive) {
  --receive.number;
  const auto found = sends.find(receive);
  return found == sends.end() ? kNone : found->second;
}

class Exchanges {
 public:
  Exchanges(RankTrace& rank, bool over_network) : rank_(rank), over_network_(over_network) {}

  void add(const std::string& way, const std::string& edge, Nanos start, Nanos end, Bytes bytes) {
    const auto detail = static_cast<std::uint32_t>(rank_.host_ops.size());
    rank_.host_ops.emplace_back();
    rank_.host_ops.back().input_bytes = bytes;
    if (over_network_) rank_.host_ops.back().collective = collective(way, bytes);
    rank_.events.add(over_network_ ? EventKind::kAnnotation : EventKind::kHostOp, start,
                     end - start, rank_.names.intern(way + " " + edge), lane(way, start, end), 0,
                     detail);
  }

 private:
  std::uint32_t collective(const std::string& way, Bytes bytes) {
    CollectiveDetail detail;
    detail.name = rank_.names.intern("pushpull");
    // The group has one member, so no other rank takes part. Pulls and pushes are separate groups,
    // because a network carries both directions at the same time.
    detail.group = rank_.names.intern(way + " of rank " + std::to_string(rank_.rank));
    detail.group_size = 1;
    if (bytes > 0) {
      detail.dtype = rank_.names.intern("Byte");
      detail.in_elements = detail.out_elements = bytes;
    }
    rank_.collectives.push_back(detail);
    return static_cast<std::uint32_t>(rank_.collectives.size() - 1);
  }

  /// The first lane of this kind that is free at `start`. Exchanges overlap, but the events of one
  /// lane must not.
  std::uint32_t lane(const std::string& way, Nanos start, Nanos end) {
    auto& rows = rows_[way];
    auto row =
        std::find_if(rows.begin(), rows.end(), [&](const auto& r) { return r.second <= start; });
    if (row == rows.end()) {
      const auto id = static_cast<std::uint32_t>(rank_.lanes.size());
      rank_.lanes.push_back(
          {false, 0, static_cast<std::int64_t>(id), -1, way + std::string(kOfServers)});
      row = rows.insert(rows.end(), {id, 0});
    }
    row->second = end;
    return row->first;
  }

  RankTrace& rank_;
  bool over_network_;
  std::map<std::string, std::vector<std::pair<std::uint32_t, Nanos>>> rows_;
};

struct Exchange {
  Nanos start, end;
  std::string way, edge;
  Bytes bytes;
};

/// Finds the exchanges that `to` received from `from`. Adding `from_shift` or `to_shift` to their
/// times gives times on the clock of the rank.
void find_exchanges(const RankTrace& from, Nanos from_shift, const RankTrace& to, Nanos to_shift,
                    const std::string& way, std::vector<Exchange>& found) {
  const auto sends = nodes_of(from, kSend);
  for (const auto& [node, i] : nodes_of(to, kReceive)) {
    const std::uint32_t send = sender_of(sends, node);
    if (send == kNone || to.events.detail[i] == kNone) continue;
    const Nanos begun = to.events.start[i] + to_shift, over = to.events.end(i) + to_shift;
    const Nanos start = std::max(begun, from.events.end(send) + from_shift);
    found.push_back({std::min(start, over), over, way, node.edge,
                     to.host_ops[to.events.detail[i]].input_bytes});
  }
}

}  // namespace

bool has_exchanges(const RankTrace& rank) {
  return std::any_of(rank.lanes.begin(), rank.lanes.end(),
                     [](const Lane& lane) { return lane.name.ends_with(kOfServers); });
}

void add_exchanges(RankTrace& rank, const RankTrace& server, Nanos shift, bool over_network) {
  std::vector<Exchange> found;
  find_exchanges(server, shift, rank, 0, kPull, found);
  find_exchanges(rank, 0, server, shift, kPush, found);
  std::sort(found.begin(), found.end(), [](const Exchange& a, const Exchange& b) {
    return std::tie(a.start, a.end, a.edge) < std::tie(b.start, b.end, b.edge);
  });
  Exchanges exchanges(rank, over_network);
  for (const Exchange& e : found) exchanges.add(e.way, e.edge, e.start, e.end, e.bytes);
}

}  // namespace weft::trace
