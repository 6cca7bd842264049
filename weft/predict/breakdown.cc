// SPDX-License-Identifier: Apache-2.0
#include "weft/predict/breakdown.h"

#include <algorithm>
#include <array>
#include <vector>

namespace weft::predict {
namespace {

using graph::LaneKind;
using graph::OpId;
using graph::OpKind;

enum Part : std::size_t { kCompute, kCommunication, kWaiting, kParts };

struct Change {
  Nanos time;
  Part part;
  int by;  ///< +1: begins, -1: ends
};

}  // namespace

Breakdown break_down(const graph::Graph& graph, std::span<const Nanos> starts,
                     std::span<const Nanos> ends, std::int32_t rank, Nanos begin, Nanos end) {
  std::vector<Change> changes;
  const auto add = [&](Part part, Nanos from, Nanos to) {
    from = std::max(from, begin);
    to = std::min(to, end);
    if (from >= to) return;
    changes.push_back({from, part, +1});
    changes.push_back({to, part, -1});
  };
  const bool on_device = std::any_of(graph.lanes.begin(), graph.lanes.end(), [&](const auto& lane) {
    return lane.rank == rank && lane.kind == LaneKind::kStream;
  });
  for (OpId op = 0; op < graph.size(); ++op) {
    if (graph.rank(op) != rank) continue;
    const OpKind kind = graph.ops.kind[op];
    const bool on_stream = graph.lanes[graph.ops.lane[op]].kind == LaneKind::kStream;
    if (kind == OpKind::kArrive) {
      // An arrival that lasts is one that did not wait for the others.
      add(kCommunication, starts[op], ends[op]);
      const std::uint32_t c = graph.ops.collective[op];
      const OpId transfer = c == graph::kNoId ? graph::kNoId : graph.collectives[c].transfer;
      if (transfer == graph::kNoId || ends[op] > starts[op]) continue;
      add(kWaiting, ends[op], starts[transfer]);
      add(kCommunication, starts[transfer], ends[transfer]);
    } else if (kind == OpKind::kPush || kind == OpKind::kPull) {
      add(kCommunication, starts[op], ends[op]);
    } else if (on_device ? on_stream : kind == OpKind::kHost) {
      add(kCompute, starts[op], ends[op]);
    }
  }
  std::sort(changes.begin(), changes.end(),
            [](const Change& a, const Change& b) { return a.time < b.time; });
  std::array<Nanos, kParts> sum{};
  std::array<int, kParts> active{};
  Nanos at = begin;
  for (const Change& change : changes) {
    for (std::size_t part = 0; part < kParts; ++part) {
      if (active[part] == 0) continue;
      sum[part] += change.time - at;
      break;
    }
    at = change.time;
    active[change.part] += change.by;
  }
  Breakdown result{sum[kCompute], sum[kCommunication], sum[kWaiting], 0};
  result.host = (end - begin) - result.total();
  return result;
}

}  // namespace weft::predict
