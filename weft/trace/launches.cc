// SPDX-License-Identifier: Apache-2.0
#include "weft/trace/launches.h"

#include <algorithm>
#include <utility>

namespace weft::trace {
namespace {

bool is_device_work(EventKind kind) {
  return kind == EventKind::kKernel || kind == EventKind::kMemcpy || kind == EventKind::kMemset;
}

bool is_host_range(EventKind kind) {
  return kind == EventKind::kHostOp || kind == EventKind::kAnnotation;
}

void resolve_launchers(const Events& events, std::vector<std::uint32_t>& launcher) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> calls;  // correlation, event
  for (std::uint32_t i = 0; i < events.size(); ++i) {
    if (events.kind[i] == EventKind::kRuntime && events.correlation[i] != 0) {
      calls.emplace_back(events.correlation[i], i);
    }
  }
  // Sorted by event within a correlation, so that of two calls the earlier line of the file wins.
  std::sort(calls.begin(), calls.end());
  for (std::uint32_t i = 0; i < events.size(); ++i) {
    if (!is_device_work(events.kind[i]) || events.correlation[i] == 0) continue;
    auto at = std::lower_bound(calls.begin(), calls.end(),
                               std::pair<std::uint32_t, std::uint32_t>(events.correlation[i], 0));
    if (at != calls.end() && at->first == events.correlation[i]) launcher[i] = at->second;
  }
}

void resolve_parents(const RankTrace& trace, std::vector<std::uint32_t>& parent) {
  const Events& events = trace.events;
  std::vector<std::uint32_t> order;
  for (std::uint32_t i = 0; i < events.size(); ++i) {
    if (is_host_range(events.kind[i]) || events.kind[i] == EventKind::kRuntime) order.push_back(i);
  }
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    if (events.lane[a] != events.lane[b]) return events.lane[a] < events.lane[b];
    if (events.start[a] != events.start[b]) return events.start[a] < events.start[b];
    // Of two ranges that start together the longer one is outside; a call is never outside.
    const bool call_a = events.kind[a] == EventKind::kRuntime;
    const bool call_b = events.kind[b] == EventKind::kRuntime;
    if (call_a != call_b) return call_b;
    if (events.duration[a] != events.duration[b]) return events.duration[a] > events.duration[b];
    return a < b;
  });
  // A range that starts inside another counts as its child even if it ends later: files with
  // whole microseconds round the two ends apart.
  std::vector<std::uint32_t> open;
  for (std::size_t k = 0; k < order.size(); ++k) {
    const std::uint32_t i = order[k];
    if (k > 0 && events.lane[order[k - 1]] != events.lane[i]) open.clear();
    while (!open.empty()) {
      const std::uint32_t top = open.back();
      const bool around = events.start[i] < events.end(top) || events.start[i] == events.start[top];
      if (around) break;
      open.pop_back();
    }
    if (!open.empty()) parent[i] = open.back();
    if (is_host_range(events.kind[i])) open.push_back(i);
  }
}

}  // namespace

Launches resolve_launches(const RankTrace& trace) {
  Launches result;
  result.launcher.assign(trace.events.size(), kNone);
  result.parent.assign(trace.events.size(), kNone);
  resolve_launchers(trace.events, result.launcher);
  resolve_parents(trace, result.parent);
  return result;
}

}  // namespace weft::trace
