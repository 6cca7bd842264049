// SPDX-License-Identifier: Apache-2.0
// Simulates a graph with a clock. At every instant, the simulator ends the ops that are due and
// starts the ops that are ready. It repeats this as long as any op ends or starts, because the end
// of an op of length 0 may let other ops start at the same instant. Then it advances the clock to
// the next end or start. Without contention, all times are whole nanoseconds. With contention, work
// is counted in fractions of nanoseconds, and only the ends of ops are rounded.
#include "weft/sim/naive.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "weft/base/check.h"

namespace weft::sim {
namespace {

using graph::Graph;
using graph::OpId;
using graph::OpKind;

constexpr Nanos kNotStarted = std::numeric_limits<Nanos>::max();

enum class State { kWaiting, kRunning, kDone };

/// Keeps only the state, the remaining work and the times of each op. Looks up everything else
/// again at every event.
class NaiveSimulator {
 public:
  NaiveSimulator(const Graph& graph, const std::vector<double>& slowdown)
      : graph_(graph),
        slowdown_(slowdown),
        state_(graph.size(), State::kWaiting),
        work_left_(graph.ops.duration.begin(), graph.ops.duration.end()),
        times_{std::vector<Nanos>(graph.size()), std::vector<Nanos>(graph.size())} {}

  NaiveTimes simulate() {
    for (;;) {
      while (end_what_is_due() || start_what_is_ready()) {
      }
      const Nanos next = next_event();
      if (next == kNotStarted) break;
      work_until(next);
    }
    for (State state : state_) WEFT_CHECK(state == State::kDone);
    return std::move(times_);
  }

 private:
  Nanos ready_time(OpId op) const {
    Nanos ready = 0;
    for (const graph::Edge& edge : graph_.in_edges(op)) {
      if (state_[edge.source] != State::kDone) return kNotStarted;
      ready = std::max(ready, times_.end[edge.source] + edge.delay);
    }
    return ready;
  }

  bool communicates(OpId op) const {
    const OpKind kind = graph_.ops.kind[op];
    return kind == OpKind::kArrive || kind == OpKind::kTransfer || kind == OpKind::kPush ||
           kind == OpKind::kPull;
  }

  /// Whether a collective is resident on the rank now.
  bool busy_with_collective(std::int32_t rank) const {
    for (OpId op = 0; op < graph_.size(); ++op) {
      if (graph_.ops.kind[op] != OpKind::kArrive || graph_.rank(op) != rank) continue;
      if (state_[op] == State::kWaiting) continue;
      const std::uint32_t collective = graph_.ops.collective[op];
      const OpId transfer =
          collective == graph::kNoId ? op : graph_.collectives[collective].transfer;
      if (state_[transfer == graph::kNoId ? op : transfer] != State::kDone) return true;
    }
    return false;
  }

  /// How many nanoseconds one nanosecond of the op's work takes at present.
  double pace(OpId op) const {
    if (slowdown_.empty() || communicates(op) || graph_.rank(op) < 0) return 1.0;
    return busy_with_collective(graph_.rank(op)) ? slowdown_[op] : 1.0;
  }

  /// When the op ends if its pace does not change, rounded to the nearest nanosecond.
  Nanos due(OpId op) const {
    if (slowdown_.empty()) return times_.start[op] + graph_.ops.duration[op];
    return now_ + std::llround(work_left_[op] * pace(op));
  }

  bool end_what_is_due() {
    for (OpId op = 0; op < graph_.size(); ++op) {
      if (state_[op] != State::kRunning || due(op) > now_) continue;
      state_[op] = State::kDone;
      times_.end[op] = now_;
      return true;
    }
    return false;
  }

  bool start_what_is_ready() {
    for (OpId op = 0; op < graph_.size(); ++op) {
      if (state_[op] != State::kWaiting || ready_time(op) > now_) continue;
      state_[op] = State::kRunning;
      times_.start[op] = now_;
      return true;
    }
    return false;
  }

  Nanos next_event() const {
    Nanos next = kNotStarted;
    for (OpId op = 0; op < graph_.size(); ++op) {
      if (state_[op] == State::kRunning) next = std::min(next, due(op));
      if (state_[op] == State::kWaiting) next = std::min(next, ready_time(op));
    }
    return next;
  }

  void work_until(Nanos next) {
    std::vector<double> done(graph_.size());
    for (OpId op = 0; op < graph_.size(); ++op) {
      if (state_[op] == State::kRunning) done[op] = static_cast<double>(next - now_) / pace(op);
    }
    for (OpId op = 0; op < graph_.size(); ++op) work_left_[op] -= done[op];
    now_ = next;
  }

  const Graph& graph_;
  const std::vector<double>& slowdown_;
  std::vector<State> state_;
  std::vector<double> work_left_;
  NaiveTimes times_;
  Nanos now_ = 0;
};

}  // namespace

NaiveTimes simulate_naively(const Graph& graph, const std::vector<double>& slowdown) {
  WEFT_CHECK(slowdown.empty() || slowdown.size() == graph.size());
  return NaiveSimulator(graph, slowdown).simulate();
}

}  // namespace weft::sim
