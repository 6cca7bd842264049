// SPDX-License-Identifier: Apache-2.0
// Answers three questions for all events at once. Which runtime call launched which device work?
// The correlation id tells. Which framework op queued which gloo collective? The order in the queue
// tells. Which range encloses which call? A sweep over each thread tells. Events mostly come in
// sorted order. So searches first look near their last result, and lists are sorted by merging
// sorted runs.
#include "weft/trace/launches.h"

#include <algorithm>
#include <utility>

#include "weft/base/sort_runs.h"
#include "weft/trace/match/calls.h"

namespace weft::trace {
namespace {

bool is_device_work(EventKind kind) {
  return kind == EventKind::kKernel || kind == EventKind::kMemcpy || kind == EventKind::kMemset;
}

bool is_host_range(EventKind kind) {
  return kind == EventKind::kHostOp || kind == EventKind::kAnnotation;
}

void resolve_launchers(const Events& events, std::vector<std::uint32_t>& launcher) {
  using Call = std::pair<std::uint32_t, std::uint32_t>;  // correlation, event
  std::vector<Call> calls;
  for (std::uint32_t i = 0; i < events.size(); ++i) {
    if (events.kind[i] == EventKind::kRuntime && events.correlation[i] != 0) {
      calls.emplace_back(events.correlation[i], i);
    }
  }
  // Calls with the same correlation are in the order of the file, so the first of two such calls is
  // taken.
  sort_runs(calls);
  auto at = calls.begin();
  for (std::uint32_t i = 0; i < events.size(); ++i) {
    if (!is_device_work(events.kind[i]) || events.correlation[i] == 0) continue;
    // Device work mostly comes in the order of its calls. So look at the next few calls first, and
    // do a full binary search only if that fails.
    const Call wanted(events.correlation[i], 0);
    constexpr std::ptrdiff_t kNear = 16;
    const auto far = calls.end() - at > kNear ? at + kNear : calls.end();
    const bool near = at != calls.end() && *at <= wanted && (far == calls.end() || wanted < *far);
    at = near ? std::lower_bound(at, far, wanted)
              : std::lower_bound(calls.begin(), calls.end(), wanted);
    if (at != calls.end() && at->first == events.correlation[i]) launcher[i] = at->second;
  }
}

/// Assigns queued collectives to the ops that queued them. A queue is served in order, so each
/// collective belongs to the first unassigned op of the same kind that started before it. (gloo
/// records no correlation ids.) `calls` and `work` are sorted by start.
void serve_in_order(const RankTrace& trace, const std::vector<std::uint32_t>& calls,
                    const std::vector<std::uint32_t>& work, std::vector<std::uint32_t>& launcher) {
  const Events& events = trace.events;
  std::vector<CollectiveKind> kinds;
  for (const std::uint32_t call : calls) {
    kinds.push_back(kind_from_name(trace.names.text(events.name[call])));
  }
  std::vector<bool> served(calls.size());
  std::size_t first = 0;
  for (const std::uint32_t item : work) {
    const CollectiveKind kind = kind_from_name(trace.names.text(events.name[item]));
    while (first < calls.size() && served[first]) ++first;
    for (std::size_t c = first; c < calls.size(); ++c) {
      if (events.start[calls[c]] > events.start[item]) break;
      if (served[c] || kinds[c] != kind) continue;
      served[c] = true;
      launcher[item] = calls[c];
      break;
    }
  }
}

void resolve_queued_collectives(const RankTrace& trace, std::vector<std::uint32_t>& launcher) {
  // Most recordings have no gloo. Checking the names is cheaper than checking all events.
  bool any = false;
  for (NameId name = 0; name < trace.names.size() && !any; ++name) {
    any = trace.names.text(name).starts_with("gloo:");
  }
  if (!any) return;
  const Events& events = trace.events;
  std::vector<std::uint32_t> calls, work;
  for (std::uint32_t i = 0; i < events.size(); ++i) {
    const std::string_view name = trace.names.text(events.name[i]);
    if (events.kind[i] == EventKind::kHostOp && name.starts_with("c10d::")) calls.push_back(i);
    if (events.kind[i] == EventKind::kAnnotation && name.starts_with("gloo:")) work.push_back(i);
  }
  const auto by_start = [&](std::uint32_t a, std::uint32_t b) {
    return std::pair{events.start[a], a} < std::pair{events.start[b], b};
  };
  std::sort(calls.begin(), calls.end(), by_start);
  std::sort(work.begin(), work.end(), by_start);
  serve_in_order(trace, calls, work, launcher);
}

void resolve_parents(const RankTrace& trace, std::vector<std::uint32_t>& parent) {
  const Events& events = trace.events;
  struct Thread {
    std::vector<std::uint32_t> ranges, calls;
  };
  std::vector<Thread> threads;
  for (std::uint32_t i = 0; i < events.size(); ++i) {
    const bool range = is_host_range(events.kind[i]);
    if (!range && events.kind[i] != EventKind::kRuntime) continue;
    if (threads.size() <= events.lane[i]) threads.resize(events.lane[i] + 1);
    Thread& thread = threads[events.lane[i]];
    (range ? thread.ranges : thread.calls).push_back(i);
  }
  // Sort by nesting: of two ranges that start at the same time, the longer one is outside.
  const auto outside = [&](std::uint32_t a, std::uint32_t b) {
    if (events.start[a] != events.start[b]) return events.start[a] < events.start[b];
    if (events.duration[a] != events.duration[b]) return events.duration[a] > events.duration[b];
    return a < b;
  };
  // A sweep over each thread, with a stack of the ranges that are open. A range that starts inside
  // another one is its child, even if it ends later: some files round times to microseconds, so the
  // ends of nested ranges may be in the wrong order.
  std::vector<std::uint32_t> open;
  const auto close_before = [&](Nanos time) {
    while (!open.empty()) {
      const std::uint32_t top = open.back();
      if (time < events.end(top) || time == events.start[top]) break;
      open.pop_back();
    }
  };
  for (Thread& thread : threads) {
    sort_runs(thread.ranges, outside);
    sort_runs(thread.calls, outside);
    open.clear();
    auto call = thread.calls.begin();
    const auto calls_before = [&](Nanos time) {
      for (; call != thread.calls.end() && events.start[*call] < time; ++call) {
        close_before(events.start[*call]);
        if (!open.empty()) parent[*call] = open.back();
      }
    };
    for (const std::uint32_t range : thread.ranges) {
      calls_before(events.start[range]);  // a call at this very start is inside the range
      close_before(events.start[range]);
      if (!open.empty()) parent[range] = open.back();
      open.push_back(range);
    }
    calls_before(INT64_MAX);
  }
}

}  // namespace

Launches resolve_launches(const RankTrace& trace) {
  Launches result;
  result.launcher.assign(trace.events.size(), kNone);
  result.parent.assign(trace.events.size(), kNone);
  resolve_launchers(trace.events, result.launcher);
  resolve_queued_collectives(trace, result.launcher);
  resolve_parents(trace, result.parent);
  return result;
}

}  // namespace weft::trace
