// SPDX-License-Identifier: Apache-2.0
// Makes op timelines of synthetic jobs whose times are known, for tests. Tests add phases by hand,
// or simulate a 1F1B (one-forward-one-backward) schedule. This file shares no code with the graph
// builder. So tests can compare the simulated times with the times that the graph gives.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/trace/events.h"

namespace weft::graph::made {

/// Makes a run with one worker for each (replica, stage) and without events. The rank of a worker
/// is stage * replicas + replica.
inline trace::Run empty_run(std::int32_t replicas, std::int32_t stages) {
  trace::Run run;
  run.world = replicas * stages;
  for (std::int32_t stage = 0; stage < stages; ++stage) {
    for (std::int32_t replica = 0; replica < replicas; ++replica) {
      trace::RankTrace rank;
      rank.rank = stage * replicas + replica;
      rank.world = run.world;
      rank.replica = replica;
      rank.stage = stage;
      rank.shard = 0;
      rank.lanes.push_back({true, replica, rank.rank * 5, -1, "compute"});
      rank.lanes.push_back({true, replica, rank.rank * 5 + 1, -1, "pp-comm"});
      run.ranks.push_back(std::move(rank));
    }
  }
  return run;
}

inline void add_phase(trace::RankTrace& rank, std::string_view name, Nanos start, Nanos duration,
                      trace::PhaseDetail detail, std::uint32_t lane = 0) {
  trace::Events& events = rank.events;
  events.start.push_back(start);
  events.duration.push_back(duration);
  events.name.push_back(rank.names.intern(name));
  events.lane.push_back(lane);
  events.correlation.push_back(0);
  events.detail.push_back(static_cast<std::uint32_t>(rank.phases.size()));
  events.external_id.push_back(-1);
  events.kind.push_back(trace::EventKind::kPhase);
  rank.phases.push_back(detail);
}

struct Pipeline {
  std::int32_t replicas = 2;
  std::int32_t stages = 2;
  std::int32_t micro_batches = 4;
  std::int32_t steps = 1;
  Nanos forward = 10 * kMillisecond;
  Nanos backward = 20 * kMillisecond;
  Nanos message = kMillisecond;
  Nanos gather = 5 * kMillisecond;
  Nanos scatter = 6 * kMillisecond;
  Nanos clip = 2 * kMillisecond;
  Nanos optimizer = 3 * kMillisecond;
  Nanos launch = 0;  ///< pause before every forward, backward and optimizer
  /// Changes the time of single pieces of compute ("forward-compute", "backward-compute",
  /// "optimizer").
  std::function<Nanos(std::string_view name, const trace::RankTrace&, std::int32_t step,
                      std::int32_t micro_batch, Nanos usual)>
      vary = [](std::string_view, const trace::RankTrace&, std::int32_t, std::int32_t,
                Nanos usual) { return usual; };
  /// Changes the time of single messages, which are named by the ranks of their sender and
  /// receiver.
  std::function<Nanos(std::int32_t from, std::int32_t to, Nanos usual)> vary_message =
      [](std::int32_t, std::int32_t, Nanos usual) { return usual; };
};

/// Returns the order of the passes of one stage. First come the forwards of the warm-up. Then a
/// forward and a backward follow each other in turn. The remaining backwards come last.
inline std::vector<std::pair<bool, std::int32_t>> one_forward_one_backward(const Pipeline& made,
                                                                           std::int32_t stage) {
  std::vector<std::pair<bool, std::int32_t>> order;  // is forward, micro-batch
  std::int32_t forward = 0;
  const std::int32_t ahead = std::min(made.stages - 1 - stage, made.micro_batches);
  while (forward < ahead) order.emplace_back(true, forward++);
  for (std::int32_t backward = 0; backward < made.micro_batches; ++backward) {
    if (forward < made.micro_batches) order.emplace_back(true, forward++);
    order.emplace_back(false, backward);
  }
  return order;
}

/// Simulates the schedule. A message moves when its sender has finished and its receiver has
/// finished the compute before. Collectives start when their last member arrives, as in the
/// timelines of the straggler study.
inline trace::Run play(const Pipeline& made) {
  trace::Run run = empty_run(made.replicas, made.stages);
  Nanos now = 0;
  const auto at = [&](std::int32_t replica, std::int32_t stage) -> trace::RankTrace& {
    return run.ranks[static_cast<std::size_t>(stage * made.replicas + replica)];
  };
  for (std::int32_t number = 1; number <= made.steps; ++number) {
    std::map<std::int32_t, Nanos> tail;  // indexed by stage
    for (std::int32_t replica = 0; replica < made.replicas; ++replica) {
      // The key is stage, is forward, batch.
      std::map<std::tuple<std::int32_t, bool, std::int32_t>, Nanos> done;
      std::vector<std::size_t> next(static_cast<std::size_t>(made.stages));
      std::vector<Nanos> free(next.size(), now + made.gather);
      // forwards[stage]: the ends of the last two forwards
      std::vector<std::pair<Nanos, Nanos>> forwards(next.size(), {now, now});
      for (std::int32_t stage = 0; stage < made.stages; ++stage) {
        add_phase(at(replica, stage), "params-all-gather", now, made.gather, {number, -1, 0, 0}, 1);
      }
      for (bool moved = true; moved;) {
        moved = false;
        for (std::int32_t stage = 0; stage < made.stages; ++stage) {
          const auto s = static_cast<std::size_t>(stage);
          const auto order = one_forward_one_backward(made, stage);
          if (next[s] == order.size()) continue;
          const auto [forward, batch] = order[next[s]];
          const std::string way = forward ? "forward" : "backward";
          trace::RankTrace& rank = at(replica, stage);
          Nanos ready = free[s];
          const std::int32_t from = stage + (forward ? -1 : 1);
          if (from >= 0 && from < made.stages) {
            const auto input = done.find({from, forward, batch});
            if (input == done.end()) continue;
            // A receive is posted after the previous compute of its direction; the first backward
            // receive is posted after the second-to-last forward of the warm-up.
            Nanos posted = forward ? now : forwards[s].first;
            if (batch > 0) posted = done.at({stage, forward, batch - 1});
            const Nanos start = std::max(input->second, posted);
            trace::RankTrace& sender = at(replica, from);
            const Nanos time = made.vary_message(sender.rank, rank.rank, made.message);
            add_phase(sender, way + "-send", start, time, {number, -1, -1, batch}, 1);
            add_phase(rank, way + "-recv", start, time, {number, -1, -1, batch}, 1);
            ready = std::max(ready, start + time);
          }
          const Nanos time = made.vary(way + "-compute", rank, number, batch,
                                       forward ? made.forward : made.backward);
          add_phase(rank, way + "-compute", ready + made.launch, time, {number, batch, 0, batch});
          free[s] = ready + made.launch + time;
          done[{stage, forward, batch}] = free[s];
          if (forward) forwards[s] = {forwards[s].second, free[s]};
          ++next[s];
          moved = true;
        }
      }
      for (std::int32_t stage = 0; stage < made.stages; ++stage) {
        tail[stage] = std::max(tail[stage], free[static_cast<std::size_t>(stage)]);
      }
    }
    Nanos clipped = 0;
    for (auto& [stage, time] : tail) {
      for (std::int32_t replica = 0; replica < made.replicas; ++replica) {
        add_phase(at(replica, stage), "grads-reduce-scatter", time, made.scatter,
                  {number, -1, 0, 0}, 1);
      }
      clipped = std::max(clipped, time + made.scatter);
    }
    for (trace::RankTrace& rank : run.ranks) {
      add_phase(rank, "optimizer-clip-main-grad", clipped, made.clip, {number, -1, -1, 0}, 1);
      const Nanos time = made.vary("optimizer", rank, number, -1, made.optimizer);
      add_phase(rank, "optimizer", clipped + made.clip, time, {number, -1, -1, 0});
      now = std::max(now, clipped + made.clip + time);
    }
  }
  return run;
}

}  // namespace weft::graph::made
