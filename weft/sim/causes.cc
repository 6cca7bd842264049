// SPDX-License-Identifier: Apache-2.0
// Divides the time of each rank by cause. note_op() turns every op into Changes: the begin and the
// end of an interval in which a cause holds on the op's rank. sweep() goes through the changes of
// one rank in the order of time, and keeps one counter per cause. The time between two changes
// counts for the first cause whose counter is not 0. Only the first four causes have intervals. If
// none of them holds, Tally looks up the next device work. Until this work was launched, the cause
// is the host (or data loading, if the host fetched a batch at that time). After the launch, the
// cause is idle. Tally also divides each piece of time among the windows.
#include "weft/sim/causes.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace weft::sim {
namespace {

using graph::Graph;
using graph::kNoId;
using graph::LaneKind;
using graph::OpId;
using graph::OpKind;

constexpr Nanos kNever = std::numeric_limits<Nanos>::max();

/// The begin or end of an interval in which one of the first four causes holds.
struct Change {
  Nanos time;
  Cause cause;
  int by;              ///< +1: begins, -1: ends
  std::int32_t whose;  ///< kWaiting: the rank that is waited for
};

/// A piece of device work: when it started, and when its launch call had returned.
struct DeviceStart {
  Nanos start;
  Nanos launched;
};

/// The ops and windows of one rank, in the form that sweep() needs.
struct RankView {
  bool on_device = false;
  std::vector<Change> changes;
  std::vector<DeviceStart> device;
  std::vector<Window> loading;       ///< sorted by time; they do not overlap
  std::vector<std::size_t> windows;  ///< indices into the caller's windows, sorted by time
};

/// Returns when the call that launched the op had returned. Without a recorded launch, returns the
/// smallest possible time. Then a pause before this op never counts for the host.
Nanos launched(const Graph& graph, OpId op, std::span<const Nanos> starts,
               std::span<const Nanos> ends) {
  for (const graph::Edge& edge : graph.in_edges(op)) {
    if (edge.kind == graph::EdgeKind::kLaunch) return std::min(ends[edge.source], starts[op]);
  }
  return std::numeric_limits<Nanos>::min();
}

/// Returns the rank whose arrival a collective waited for. If several ranks arrive last at the same
/// instant, returns the lowest one.
std::int32_t last_rank(const Graph& graph, const graph::Collective& c,
                       std::span<const Nanos> ends) {
  std::int32_t found = -1;
  Nanos latest = std::numeric_limits<Nanos>::min();
  for (const OpId arrival : c.arrivals) {
    const std::int32_t rank = graph.rank(arrival);
    if (ends[arrival] < latest || (ends[arrival] == latest && rank >= found)) continue;
    latest = ends[arrival];
    found = rank;
  }
  return found;
}

void note_op(const Graph& graph, std::span<const Nanos> starts, std::span<const Nanos> ends,
             OpId op, RankView& view) {
  const auto add = [&](Cause cause, Nanos from, Nanos to, std::int32_t whose = -1) {
    if (from >= to) return;
    view.changes.push_back({from, cause, +1, whose});
    view.changes.push_back({to, cause, -1, whose});
  };
  const bool on_stream = graph.lanes[graph.ops.lane[op]].kind == LaneKind::kStream;
  if (on_stream) view.device.push_back({starts[op], launched(graph, op, starts, ends)});
  switch (graph.ops.kind[op]) {
    case OpKind::kArrive: {
      // An arrival with a duration does not wait for the other members. Its kernel ended before the
      // transfer did, as a buffered send does. The duration of the arrival counts as transfer.
      add(Cause::kTransfer, starts[op], ends[op]);
      const std::uint32_t c = graph.ops.collective[op];
      const OpId transfer = c == kNoId ? kNoId : graph.collectives[c].transfer;
      if (transfer == kNoId || ends[op] > starts[op]) return;
      const std::int32_t last = last_rank(graph, graph.collectives[c], ends);
      // The last rank to arrive does not wait for any rank. If the transfer still starts later, it
      // waits for other transfers on the link.
      const Cause until_it_moves = last == graph.rank(op) ? Cause::kTransfer : Cause::kWaiting;
      add(until_it_moves, ends[op], starts[transfer], last);
      add(Cause::kTransfer, starts[transfer], ends[transfer]);
      return;
    }
    case OpKind::kPush:
    case OpKind::kPull:
      return add(Cause::kTransfer, starts[op], ends[op]);
    case OpKind::kCopy:
      return add(Cause::kMemoryCopy, starts[op], ends[op]);
    default:
      if (view.on_device ? on_stream : graph.ops.kind[op] == OpKind::kHost) {
        add(Cause::kCompute, starts[op], ends[op]);
      }
  }
}

/// Adds pieces of one rank's time to the windows in which they lie. The pieces must be added in the
/// order of time, because each index below only moves forwards.
class Tally {
 public:
  Tally(const std::vector<Window>& windows, const RankView& view, std::vector<CauseTimes>& result)
      : windows_(windows), view_(view), result_(result) {}

  /// Calls visit(CauseTimes of the window, length) for every part of [from, to) that is inside a
  /// window.
  template <class Visit>
  void spread(Nanos from, Nanos to, Visit visit) {
    while (window_ < view_.windows.size() && windows_[view_.windows[window_]].end <= from) {
      ++window_;
    }
    for (std::size_t w = window_; w < view_.windows.size(); ++w) {
      const Window& window = windows_[view_.windows[w]];
      if (window.begin >= to) return;
      const Nanos length = std::min(to, window.end) - std::max(from, window.begin);
      if (length > 0) visit(result_[view_.windows[w]], length);
    }
  }

  /// Divides the time [from, to), in which none of the first four causes holds. Until the next
  /// device work is launched, the cause is data loading or host launch. After the launch, it is
  /// idle.
  void idle(Nanos from, Nanos to) {
    while (next_ < view_.device.size() && view_.device[next_].start < to) ++next_;
    const bool more = next_ < view_.device.size();
    const Nanos ready = more ? std::clamp(view_.device[next_].launched, from, to) : from;
    while (load_ < view_.loading.size() && view_.loading[load_].end <= from) ++load_;
    for (std::size_t l = load_; l < view_.loading.size(); ++l) {
      const Window& load = view_.loading[l];
      if (load.begin >= ready) break;
      plain(Cause::kHostLaunch, from, std::max(from, load.begin));
      from = std::max(from, load.begin);
      plain(Cause::kDataLoading, from, std::min(ready, load.end));
      from = std::min(ready, load.end);
    }
    plain(Cause::kHostLaunch, from, ready);
    plain(Cause::kIdle, std::max(from, ready), to);
  }

  void plain(Cause cause, Nanos from, Nanos to) {
    if (from >= to) return;
    spread(from, to, [&](CauseTimes& times, Nanos length) { times[cause] += length; });
  }

 private:
  const std::vector<Window>& windows_;
  const RankView& view_;
  std::vector<CauseTimes>& result_;
  std::size_t window_ = 0;  ///< first window that has not ended
  std::size_t next_ = 0;    ///< next device work to start
  std::size_t load_ = 0;    ///< first loading window that has not ended
};

void sweep(RankView& view, const std::vector<Window>& windows, std::vector<CauseTimes>& result) {
  std::stable_sort(view.changes.begin(), view.changes.end(),
                   [](const Change& a, const Change& b) { return a.time < b.time; });
  std::sort(view.device.begin(), view.device.end(),
            [](const DeviceStart& a, const DeviceStart& b) { return a.start < b.start; });
  Tally tally(windows, view, result);
  std::array<int, kCauses> active{};
  // The ranks that this rank waits for at present, in the order in which the waits began. If the
  // rank waits in two collectives at once, the time counts for the wait that began first.
  std::vector<std::int32_t> waited_for;
  const auto is_active = [&](Cause cause) { return active[static_cast<std::size_t>(cause)] > 0; };
  Nanos at = std::numeric_limits<Nanos>::min();
  const auto advance = [&](Nanos to) {
    if (to <= at) return;
    const bool moves = is_active(Cause::kTransfer);
    if (is_active(Cause::kCompute) || is_active(Cause::kMemoryCopy)) {
      const Cause cause = is_active(Cause::kCompute) ? Cause::kCompute : Cause::kMemoryCopy;
      tally.spread(at, to, [&](CauseTimes& times, Nanos length) {
        times[cause] += length;
        if (moves) times.communication += length;
        if (moves) times.hidden += length;
      });
    } else if (moves) {
      tally.spread(at, to, [&](CauseTimes& times, Nanos length) {
        times[Cause::kTransfer] += length;
        times.communication += length;
      });
    } else if (is_active(Cause::kWaiting)) {
      tally.spread(at, to, [&](CauseTimes& times, Nanos length) {
        times[Cause::kWaiting] += length;
        times.waiting_for[waited_for.front()] += length;
      });
    } else {
      tally.idle(at, to);
    }
    at = to;
  };
  if (!view.windows.empty()) at = windows[view.windows.front()].begin;
  for (const Change& change : view.changes) {
    advance(change.time);
    active[static_cast<std::size_t>(change.cause)] += change.by;
    if (change.cause != Cause::kWaiting) continue;
    if (change.by > 0) {
      waited_for.push_back(change.whose);
    } else {
      waited_for.erase(std::find(waited_for.begin(), waited_for.end(), change.whose));
    }
  }
  advance(kNever);  // the rest of the last window, in which nothing runs any more
}

}  // namespace

const char* cause_name(Cause cause) {
  switch (cause) {
    case Cause::kCompute:
      return "compute";
    case Cause::kMemoryCopy:
      return "memory_copy";
    case Cause::kTransfer:
      return "exposed_transfer";
    case Cause::kWaiting:
      return "waiting";
    case Cause::kDataLoading:
      return "data_loading";
    case Cause::kHostLaunch:
      return "host_launch";
    case Cause::kIdle:
      return "idle";
  }
  return "idle";
}

Nanos CauseTimes::total() const {
  return std::accumulate(by_cause.begin(), by_cause.end(), Nanos{0});
}

std::vector<std::pair<std::string, Nanos>> CauseTimes::named() const {
  std::vector<std::pair<std::string, Nanos>> out;
  for (std::size_t c = 0; c < kCauses; ++c) {
    if (static_cast<Cause>(c) == Cause::kWaiting) {
      for (const auto& [rank, time] : waiting_for) {
        if (time != 0) out.emplace_back("waiting_for_rank_" + std::to_string(rank), time);
      }
    } else if (by_cause[c] != 0) {
      out.emplace_back(cause_name(static_cast<Cause>(c)), by_cause[c]);
    }
  }
  return out;
}

std::vector<Window> merged(std::vector<Window> windows) {
  std::sort(windows.begin(), windows.end(),
            [](const Window& a, const Window& b) { return a.begin < b.begin; });
  std::vector<Window> out;
  for (const Window& w : windows) {
    if (!out.empty() && w.begin <= out.back().end) {
      out.back().end = std::max(out.back().end, w.end);
    } else {
      out.push_back(w);
    }
  }
  return out;
}

std::vector<CauseTimes> split_by_cause(const Graph& graph, std::span<const Nanos> starts,
                                       std::span<const Nanos> ends,
                                       const std::vector<Window>& windows,
                                       const std::vector<Window>& loading) {
  std::map<std::int32_t, RankView> views;
  for (std::size_t w = 0; w < windows.size(); ++w) views[windows[w].rank].windows.push_back(w);
  std::vector<RankView*> view_of_lane(graph.lanes.size());
  for (std::size_t l = 0; l < graph.lanes.size(); ++l) {
    const auto found = views.find(graph.lanes[l].rank);
    if (found == views.end()) continue;
    view_of_lane[l] = &found->second;
    if (graph.lanes[l].kind == LaneKind::kStream) found->second.on_device = true;
  }
  for (const Window& load : loading) {
    if (const auto found = views.find(load.rank); found != views.end()) {
      found->second.loading.push_back(load);
    }
  }
  for (OpId op = 0; op < graph.size(); ++op) {
    RankView* view = view_of_lane[graph.ops.lane[op]];
    if (view != nullptr) note_op(graph, starts, ends, op, *view);
  }
  std::vector<CauseTimes> result(windows.size());
  for (auto& [rank, view] : views) {
    view.loading = merged(std::move(view.loading));
    std::sort(view.windows.begin(), view.windows.end(),
              [&](std::size_t a, std::size_t b) { return windows[a].begin < windows[b].begin; });
    sweep(view, windows, result);
  }
  return result;
}

namespace {

/// Divides each part by `n`. The quotients add up to floor(sum of the parts / n), because the parts
/// with the largest remainders are rounded up. Of equal remainders, the first is rounded up.
void divide(std::vector<Nanos*> parts, Nanos n) {
  Nanos remainders = 0;
  std::vector<std::pair<Nanos, std::size_t>> order;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Nanos rest = *parts[i] % n;
    *parts[i] /= n;
    remainders += rest;
    order.emplace_back(-rest, i);
  }
  std::sort(order.begin(), order.end());
  for (Nanos left = remainders / n; left > 0; --left) {
    ++*parts[order[static_cast<std::size_t>(remainders / n - left)].second];
  }
}

}  // namespace

CauseTimes mean_of(std::span<const CauseTimes> times) {
  CauseTimes sum;
  if (times.empty()) return sum;
  for (const CauseTimes& t : times) {
    for (std::size_t c = 0; c < kCauses; ++c) sum.by_cause[c] += t.by_cause[c];
    for (const auto& [rank, waited] : t.waiting_for) sum.waiting_for[rank] += waited;
    sum.communication += t.communication;
    sum.hidden += t.hidden;
  }
  const auto n = static_cast<Nanos>(times.size());
  std::vector<Nanos*> parts;
  for (std::size_t c = 0; c < kCauses; ++c) {
    if (static_cast<Cause>(c) != Cause::kWaiting) parts.push_back(&sum.by_cause[c]);
  }
  for (auto& [rank, waited] : sum.waiting_for) parts.push_back(&waited);
  divide(std::move(parts), n);
  Nanos& waiting = sum[Cause::kWaiting];
  waiting = 0;
  for (const auto& [rank, waited] : sum.waiting_for) waiting += waited;
  sum.communication /= n;
  sum.hidden /= n;
  return sum;
}

}  // namespace weft::sim
