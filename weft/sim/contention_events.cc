// SPDX-License-Identifier: Apache-2.0
// Computes contended durations by a discrete-event simulation. A priority queue holds the starts
// and the expected ends of ops. When the first collective becomes resident on a rank, or the last
// one ends, the rate of all slowed ops that run on this rank changes. Then the remaining work of
// each such op is updated, and a new end is put into the queue. The old end stays in the queue. It
// has an old version number, so it is ignored.
#include "weft/sim/contention_events.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <queue>
#include <tuple>

#include "weft/base/check.h"

namespace weft::sim {
namespace {

using graph::EdgeId;
using graph::kNoId;
using graph::OpId;
using graph::OpKind;

class EventLoop {
 public:
  EventLoop(const graph::Graph& graph, std::span<const Nanos> work,
            std::span<const double> slowdown, std::span<const Nanos> delays)
      : graph_(graph),
        work_(work),
        slowdown_(slowdown),
        delays_(delays),
        waits_for_(graph.size()),
        ready_(graph.size()),
        start_(graph.size()),
        duration_(graph.size()),
        version_(graph.size()),
        releases_(graph.size()) {
    std::map<std::int32_t, std::size_t> positions;
    for (const graph::Lane& lane : graph.lanes) {
      rank_of_lane_.push_back(positions.emplace(lane.rank, positions.size()).first->second);
    }
    ranks_.resize(positions.size());
    index_followers();
  }

  std::vector<Nanos> run() {
    for (OpId op = 0; op < graph_.size(); ++op) {
      if (waits_for_[op] == 0) events_.push({0, Step::kStart, op, 0});
    }
    std::size_t ended = 0;
    while (!events_.empty()) {
      const Event event = events_.top();
      events_.pop();
      if (event.step == Step::kStart) {
        start(event.op, event.time);
      } else if (event.version == version_[event.op]) {
        end(event.op, event.time);
        ++ended;
      }
    }
    WEFT_CHECK(ended == graph_.size());
    return std::move(duration_);
  }

 private:
  /// At the same instant, ends come before starts. So if an op ends exactly when a collective
  /// becomes resident, it is not slowed, as in Contention::slowed_duration().
  enum class Step : std::uint8_t { kEnd, kStart };
  struct Event {
    Nanos time;
    Step step;
    OpId op;
    std::uint32_t version;  ///< kEnd: valid only if equal to version_[op]
    bool operator>(const Event& other) const {
      return std::tie(time, step, op) > std::tie(other.time, other.step, other.op);
    }
  };
  struct Running {  ///< an op that is under way and whose rate may change
    OpId op;
    double left;  ///< work left at time `since`, in nanoseconds at full rate
    double pace;  ///< nanoseconds of time per nanosecond of work
    Nanos since;  ///< when the rate last changed
  };
  struct Rank {
    int residents = 0;
    std::vector<Running> running;
  };

  void index_followers() {
    first_out_.resize(graph_.size() + 1);
    out_.resize(graph_.edges.size());
    destination_.resize(graph_.edges.size());
    for (OpId op = 0; op < graph_.size(); ++op) {
      waits_for_[op] = graph_.first_edge[op + 1] - graph_.first_edge[op];
      for (EdgeId e = graph_.first_edge[op]; e < graph_.first_edge[op + 1]; ++e) {
        destination_[e] = op;
        ++first_out_[graph_.edges[e].source + 1];
      }
      if (graph_.ops.kind[op] == OpKind::kArrive && graph_.rank(op) >= 0) {
        const std::uint32_t collective = graph_.ops.collective[op];
        const OpId transfer = collective == kNoId ? kNoId : graph_.collectives[collective].transfer;
        releases_[transfer == kNoId ? op : transfer].push_back(op);
      }
    }
    std::partial_sum(first_out_.begin(), first_out_.end(), first_out_.begin());
    std::vector<std::uint32_t> next(first_out_.begin(), first_out_.end() - 1);
    for (EdgeId e = 0; e < graph_.edges.size(); ++e) out_[next[graph_.edges[e].source]++] = e;
  }

  Rank& rank_of(OpId op) { return ranks_[rank_of_lane_[graph_.ops.lane[op]]]; }

  void expect_end(const Running& running) {
    const double left = std::max(0.0, running.left);
    events_.push({running.since + std::llround(left * running.pace), Step::kEnd, running.op,
                  version_[running.op]});
  }

  /// `by` is +1 when a collective becomes resident, and -1 when a collective ends. Two collectives
  /// at the same time slow an op as much as a single one. So rates change only when the number of
  /// collectives becomes 0 or stops being 0.
  void change_residents(Rank& rank, int by, Nanos now) {
    const bool was_busy = rank.residents > 0;
    rank.residents += by;
    const bool busy = rank.residents > 0;
    if (busy == was_busy) return;
    for (Running& running : rank.running) {
      running.left -= static_cast<double>(now - running.since) / running.pace;
      running.since = now;
      running.pace = busy ? slowdown_[running.op] : 1.0;
      ++version_[running.op];
      expect_end(running);
    }
  }

  void start(OpId op, Nanos now) {
    start_[op] = now;
    if (slowdown_[op] != 1.0) {
      Rank& rank = rank_of(op);
      const double pace = rank.residents > 0 ? slowdown_[op] : 1.0;
      rank.running.push_back({op, static_cast<double>(work_[op]), pace, now});
      expect_end(rank.running.back());
    } else {
      events_.push({now + work_[op], Step::kEnd, op, version_[op]});
    }
    if (graph_.ops.kind[op] == OpKind::kArrive && graph_.rank(op) >= 0) {
      change_residents(rank_of(op), 1, now);
    }
  }

  void end(OpId op, Nanos now) {
    duration_[op] = now - start_[op];
    if (slowdown_[op] != 1.0) {
      std::erase_if(rank_of(op).running, [op](const Running& r) { return r.op == op; });
    }
    for (OpId arrival : releases_[op]) change_residents(rank_of(arrival), -1, now);
    for (std::uint32_t i = first_out_[op]; i < first_out_[op + 1]; ++i) {
      const OpId next = destination_[out_[i]];
      ready_[next] = std::max(ready_[next], now + delays_[out_[i]]);
      if (--waits_for_[next] == 0) events_.push({ready_[next], Step::kStart, next, 0});
    }
  }

  const graph::Graph& graph_;
  std::span<const Nanos> work_;
  std::span<const double> slowdown_;
  std::span<const Nanos> delays_;
  std::vector<std::size_t> rank_of_lane_;
  std::vector<Rank> ranks_;
  /// waits_for_[op]: the number of in-edges whose source has not ended
  std::vector<std::uint32_t> waits_for_;
  std::vector<Nanos> ready_, start_, duration_;
  std::vector<std::uint32_t> version_;  ///< version_[op]: how often its expected end has changed
  /// releases_[op]: the arrivals whose collective stops being resident when the op ends
  std::vector<std::vector<OpId>> releases_;
  std::vector<std::uint32_t> first_out_, out_;  ///< edges grouped by source
  std::vector<OpId> destination_;               ///< one entry per edge
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
};

}  // namespace

std::vector<Nanos> contended_durations(const graph::Graph& graph, std::span<const Nanos> work,
                                       std::span<const double> slowdown,
                                       std::span<const Nanos> delays) {
  return EventLoop(graph, work, slowdown, delays).run();
}

}  // namespace weft::sim
