// SPDX-License-Identifier: Apache-2.0
#include "weft/predict/breakdown.h"

#include <algorithm>
#include <array>
#include <map>
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

/// Each instant goes to the first part that is under way.
Breakdown sweep(std::vector<Change>& changes, const Window& window) {
  std::sort(changes.begin(), changes.end(),
            [](const Change& a, const Change& b) { return a.time < b.time; });
  std::array<Nanos, kParts> sum{};
  std::array<int, kParts> active{};
  Nanos at = window.begin;
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
  result.host = (window.end - window.begin) - result.total();
  return result;
}

}  // namespace

std::vector<Breakdown> break_down(const graph::Graph& graph, std::span<const Nanos> starts,
                                  std::span<const Nanos> ends, const std::vector<Window>& windows) {
  std::map<std::int32_t, std::size_t> window_of;
  for (std::size_t w = 0; w < windows.size(); ++w) window_of[windows[w].rank] = w;
  // By lane: its window, if any, and whether its rank has streams at all.
  constexpr std::size_t kNone = SIZE_MAX;
  std::vector<std::size_t> window_of_lane(graph.lanes.size(), kNone);
  std::vector<bool> on_device(windows.size());
  for (std::size_t l = 0; l < graph.lanes.size(); ++l) {
    const auto found = window_of.find(graph.lanes[l].rank);
    if (found == window_of.end()) continue;
    window_of_lane[l] = found->second;
    if (graph.lanes[l].kind == LaneKind::kStream) on_device[found->second] = true;
  }

  std::vector<std::vector<Change>> changes(windows.size());
  for (OpId op = 0; op < graph.size(); ++op) {
    const graph::LaneId lane = graph.ops.lane[op];
    const std::size_t w = window_of_lane[lane];
    if (w == kNone) continue;
    const auto add = [&](Part part, Nanos from, Nanos to) {
      from = std::max(from, windows[w].begin);
      to = std::min(to, windows[w].end);
      if (from >= to) return;
      changes[w].push_back({from, part, +1});
      changes[w].push_back({to, part, -1});
    };
    const OpKind kind = graph.ops.kind[op];
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
    } else if (on_device[w] ? graph.lanes[lane].kind == LaneKind::kStream : kind == OpKind::kHost) {
      add(kCompute, starts[op], ends[op]);
    }
  }
  std::vector<Breakdown> result;
  for (std::size_t w = 0; w < windows.size(); ++w) result.push_back(sweep(changes[w], windows[w]));
  return result;
}

}  // namespace weft::predict
