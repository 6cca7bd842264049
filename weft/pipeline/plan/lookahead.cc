// SPDX-License-Identifier: Apache-2.0
#include "weft/pipeline/plan/lookahead.h"

#include <algorithm>
#include <limits>
#include <tuple>

namespace weft::pipeline {
namespace {

/// Rounded down, so that sums of parts stay below what the parts are rounded to.
Nanos times(double factor, std::int64_t amount) {
  return static_cast<Nanos>(factor * static_cast<double>(amount));
}

}  // namespace

/// All but what a search asks for only where these times do not tell enough.
inline Lookahead::StageCost Lookahead::times_of(std::int32_t first, std::int32_t last,
                                                std::int32_t group) const {
  const LayerChain& chain = task_.chain;
  const double work = graph_[group].cost.work;
  StageCost cost;
  const Nanos forward = chain.forward[last] - chain.forward[first];
  cost.forward = times(work, forward);
  Way& whole = cost.whole;
  whole.later = times(work, chain.weight[last] - chain.weight[first]);
  whole.path = times(work, forward + chain.backward[last] - chain.backward[first]) - whole.later;
  whole.fit = std::numeric_limits<Micro>::max();
  return cost;
}

/// The rest: all-reduce and memory.
inline void Lookahead::complete(StageCost& cost, std::int32_t first, std::int32_t last,
                                std::int32_t group) const {
  const LayerChain& chain = task_.chain;
  const Group& devices = graph_[group];
  const Bytes parameters = chain.parameters[last] - chain.parameters[first];
  if (devices.replicas > 1 && parameters > 0) {
    cost.possible = devices.cost.reduce < std::numeric_limits<double>::infinity();
    if (cost.possible) {
      cost.reduce = times(devices.cost.reduce, parameters) + devices.cost.reduce_latency;
    }
  }
  if (!task_.limit_memory || devices.memory == 0) return;
  // Asked very often: divides only where it must.
  const Bytes free = devices.memory - task_.state_factor * parameters;
  const Bytes kept = chain.stash[last] - chain.stash[first], r = devices.replicas;
  const Bytes part = r == 1 ? kept : (kept + r - 1) / r;
  cost.too_large = free < part;
  cost.possible &= !cost.too_large;
  if (cost.too_large || task_.micro_batches * part <= free) return;
  const Fits fits = fits_of(stage_need(task_, first, last, devices.replicas), devices.memory);
  cost.whole.fit = fits.whole;
  cost.again.fit = fits.again;
  const Nanos forward = chain.forward[last] - chain.forward[first];
  cost.again.path =
      times(devices.cost.work, 2 * forward + chain.backward[last] - chain.backward[first]);
}

Lookahead::StageCost Lookahead::stage(std::int32_t first, std::int32_t last,
                                      std::int32_t group) const {
  StageCost cost = times_of(first, last, group);
  complete(cost, first, last, group);
  return cost;
}

Lookahead::Channel Lookahead::channel(const GroupEdge& edge, std::int32_t layer) const {
  const Bytes bytes = task_.chain.cut[layer];
  const Nanos there = times(edge.there, bytes), back = times(edge.back, bytes);
  const LayerChain& chain = task_.chain;
  const Nanos behind =
      times(quickest_, chain.forward.back() - chain.forward[layer] + chain.backward.back() -
                           chain.backward[layer] - chain.weight.back() + chain.weight[layer]);
  return {
      there, there + back + edge.latency,
      task_.micro_batches * std::max(there, back) + std::min(there, back) + edge.latency + behind};
}

Lookahead::Lookahead(const Task& task, const GroupGraph& graph, std::int32_t stages, Nanos limit)
    : task_(task), graph_(graph), stages_(stages), limit_(limit) {
  quickest_ = std::numeric_limits<double>::infinity();
  for (const Group& group : graph) quickest_ = std::min(quickest_, group.cost.work);
  const std::size_t cells = static_cast<std::size_t>(stages + 1) * task.chain.size() * graph.size();
  for (auto* column : {&busy_, &step_, &busy_next_, &step_next_}) column->assign(cells, kNoPlan);
  for (auto* minima : {&least_busy_next_, &least_step_next_}) {
    *minima = BlockMinima(row(stages + 1, 0), task.chain.size(), kNoPlan);
  }
  if (task.limit_memory) fill_trips();
  for (std::int32_t left = stages > 0 ? 1 : 0; left <= stages; ++left) fill(left);
}

void Lookahead::fill_trips() {
  const std::int32_t layers = task_.chain.size();
  const auto groups = static_cast<std::int32_t>(graph_.size());
  trip_.assign(static_cast<std::size_t>(layers) * groups, kNoPlan);
  trip_next_ = trip_;
  for (std::int32_t first = layers - 1; first >= 0; --first) {
    for (std::int32_t g = 0; g < groups; ++g) {
      Nanos least = kNoPlan;
      for (std::int32_t last = first + 1; last <= layers; ++last) {
        const StageCost cost = stage(first, last, g);
        if (cost.too_large || cost.whole.path >= least) break;
        if (task_.micro_batches * cost.whole.path >= limit_) break;
        if (!cost.possible) continue;
        const Nanos rest = last < layers ? trip_next_[cell(last, g)] : 0;
        if (rest < kNoPlan) least = std::min(least, cost.whole.path + rest);
      }
      trip_[cell(first, g)] = least;
    }
    for (std::int32_t g = 0; g < groups; ++g) {
      Nanos least = kNoPlan;
      for (const GroupEdge& edge : graph_[g].next) {
        const Nanos rest = trip(first, edge.to);
        if (rest < kNoPlan) least = std::min(least, channel(edge, first).both + rest);
      }
      trip_next_[cell(first, g)] = least;
    }
  }
}

void Lookahead::fill(std::int32_t left) {
  const std::int32_t layers = task_.chain.size();
  const auto groups = static_cast<std::int32_t>(graph_.size());
  const Nanos micros = task_.micro_batches;
  const bool may_end = stages_ == 0 || left == 1;
  const bool may_go_on = stages_ == 0 || left > 1;
  // Best ends of the stages that start one layer later: a first guess.
  std::vector<std::int32_t> busy_end(groups, layers), step_end(groups, layers);
  for (std::int32_t first = layers - 1; first >= 0; --first) {
    for (std::int32_t g = 0; g < groups; ++g) {
      Nanos least_busy = limit_, least_step = limit_;
      // False where longer stages, which only take longer, need not be looked at.
      const auto try_end = [&](std::int32_t last) {
        StageCost cost = times_of(first, last, g);
        if (micros * cost.whole.path >= least_busy && micros * cost.whole.work() >= least_step) {
          return false;
        }
        if (last == layers ? !may_end : !may_go_on) return true;
        Nanos busy_behind = 0, step_behind = 0, trip_behind = 0;
        if (last < layers) {
          const std::size_t next = behind(after(left), last, g);
          busy_behind = busy_next_[next];
          step_behind = step_next_[next];
          if (busy_behind == kNoPlan) return true;
          if (!trip_next_.empty()) trip_behind = trip_next_[cell(last, g)];
        }
        const auto time_of = [&](const Way& way) {
          const Nanos busy =
              std::max(busy_in_rounds(task_.micro_batches, cost.forward, way, trip_behind),
                       way.path + busy_behind);
          const Nanos done = std::max(micros * way.work(), busy + way.later) + cost.reduce;
          return std::pair(busy, std::max(done, cost.forward + step_behind));
        };
        auto [busy, step] = time_of(cost.whole);
        if (busy >= least_busy && step >= least_step) return true;  // all else makes it longer
        complete(cost, first, last, g);
        if (!cost.possible) return !cost.too_large;
        std::tie(busy, step) = time_of(cost.whole);
        if (cost.again.fit > 0) {
          const auto again = time_of(cost.again);
          busy = std::min(busy, again.first);
          step = std::min(step, again.second);
        }
        if (busy < least_busy) {
          least_busy = busy;
          busy_end[g] = last;
        }
        if (step < least_step) {
          least_step = step;
          step_end[g] = last;
        }
        return true;
      };
      const std::int32_t guess[] = {busy_end[g], step_end[g]};
      for (const std::int32_t last : guess) try_end(last);
      const std::size_t rest = row(after(left), g);
      for (std::int32_t last = first + 1; last <= layers; ++last) {
        // Whatever follows takes too long behind all ends of a block.
        while (last < layers && least_busy_next_.least(rest, last) >= least_busy &&
               least_step_next_.least(rest, last) >= least_step) {
          last = std::min(layers, (last / BlockMinima::kBlock + 1) * BlockMinima::kBlock);
        }
        if (!try_end(last)) break;
      }
      if (least_step >= limit_) continue;
      busy_[at(left, first, g)] = least_busy;
      step_[at(left, first, g)] = least_step;
    }
    for (std::int32_t g = 0; g < groups; ++g) {
      Nanos least_busy = kNoPlan, least_step = kNoPlan;
      for (const GroupEdge& edge : graph_[g].next) {
        const Nanos rest = busy(left, first, edge.to);
        if (rest == kNoPlan) continue;
        const Channel cost = channel(edge, first);
        least_busy = std::min(least_busy, std::max(cost.both + rest, cost.busy));
        least_step = std::min(least_step, cost.there + step(left, first, edge.to));
      }
      busy_next_[behind(left, first, g)] = least_busy;
      step_next_[behind(left, first, g)] = least_step;
      least_busy_next_.add(row(left, g), first, least_busy);
      least_step_next_.add(row(left, g), first, least_step);
    }
  }
}

Nanos Lookahead::least() const {
  Nanos least = kNoPlan;
  for (std::size_t g = 0; g < graph_.size(); ++g) {
    if (graph_[g].first) least = std::min(least, step(stages_, 0, static_cast<std::int32_t>(g)));
  }
  return least;
}

}  // namespace weft::pipeline
