// SPDX-License-Identifier: Apache-2.0
// Computes the bounds with two dynamic programs, which run from the last layer to the first.
// fill_round_trips() computes the least round trip of a micro-batch, without regard to the number
// of stages. fill() computes the bounds of Z and of the step for one number of remaining stages.
//
// Each program alternates between two steps per layer. First it computes the bounds of stages that
// start at the layer, for every group and every possible end. Then it computes the least bound over
// the edges that lead to the layer. Stages that end before the layer need this least bound. This
// costs (ends + edges) per layer and group instead of (ends * edges).
//
// Filling these tables takes most of the time of a planning, so the code avoids work. It starts
// with the best end of the stage that begins one layer later, stops at stages that are longer than
// the best known value, skips blocks of ends if everything that may follow them takes too long, and
// computes all-reduce and memory only for ends that are still candidates.
#include "weft/pipeline/plan/lookahead.h"

#include <algorithm>
#include <limits>
#include <tuple>

namespace weft::pipeline {
namespace {

/// Multiplies and rounds down. pipeline_of() rounds the times of whole stages to the nearest
/// nanosecond. If the bounds were rounded to the nearest nanosecond too, their sums could exceed
/// these times.
Nanos times(double factor, std::int64_t amount) {
  return static_cast<Nanos>(factor * static_cast<double>(amount));
}

}  // namespace

/// The compute times of a stage. All-reduce and memory are left to complete(), because most stages
/// are discarded by their compute times alone.
inline Lookahead::StageCost Lookahead::times_of(std::int32_t first, std::int32_t last,
                                                std::int32_t group) const {
  const LayerChain& chain = task_.chain;
  const double work = graph_[group].cost.work;
  StageCost cost;
  const Nanos forward = chain.forward[last] - chain.forward[first];
  cost.forward = times(work, forward);
  StageMode& keeping = cost.keeping;
  keeping.later = times(work, chain.weight[last] - chain.weight[first]);
  keeping.path =
      times(work, forward + chain.backward[last] - chain.backward[first]) - keeping.later;
  keeping.fit = std::numeric_limits<Micro>::max();
  return cost;
}

/// Adds all-reduce and memory to the costs of times_of().
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
  // This code runs millions of times, so it returns before the divisions of fits_of() if all
  // micro-batches fit or none does.
  const Bytes free = devices.memory - task_.state_factor * parameters;
  const Bytes kept = chain.stash[last] - chain.stash[first], r = devices.replicas;
  const Bytes part = r == 1 ? kept : (kept + r - 1) / r;
  cost.too_large = free < part;
  cost.possible &= !cost.too_large;
  if (cost.too_large || task_.micro_batches * part <= free) return;
  const Fits fits = fits_of(stage_need(task_, first, last, devices.replicas), devices.memory);
  cost.keeping.fit = fits.keeping;
  cost.recomputing.fit = fits.recomputing;
  const Nanos forward = chain.forward[last] - chain.forward[first];
  cost.recomputing.path =
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
  const Nanos forward = times(edge.forward, bytes), backward = times(edge.backward, bytes);
  const LayerChain& chain = task_.chain;
  // The layers behind the channel take at least this long, on whatever groups they run.
  const Nanos behind =
      times(quickest_, chain.forward.back() - chain.forward[layer] + chain.backward.back() -
                           chain.backward[layer] - chain.weight.back() + chain.weight[layer]);
  const Nanos all_messages =
      task_.micro_batches * std::max(forward, backward) + std::min(forward, backward);
  return {forward, forward + backward + edge.latency, all_messages + edge.latency + behind};
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
  if (task.limit_memory) fill_round_trips();
  for (std::int32_t left = stages > 0 ? 1 : 0; left <= stages; ++left) fill(left);
}

void Lookahead::fill_round_trips() {
  const std::int32_t layers = task_.chain.size();
  const auto groups = static_cast<std::int32_t>(graph_.size());
  round_trip_.assign(static_cast<std::size_t>(layers) * groups, kNoPlan);
  round_trip_next_ = round_trip_;
  for (std::int32_t first = layers - 1; first >= 0; --first) {
    for (std::int32_t g = 0; g < groups; ++g) {
      Nanos least = kNoPlan;
      for (std::int32_t last = first + 1; last <= layers; ++last) {
        const StageCost cost = stage(first, last, g);
        if (cost.too_large || cost.keeping.path >= least) break;
        if (task_.micro_batches * cost.keeping.path >= limit_) break;
        if (!cost.possible) continue;
        const Nanos rest = last < layers ? round_trip_next_[cell(last, g)] : 0;
        if (rest < kNoPlan) least = std::min(least, cost.keeping.path + rest);
      }
      round_trip_[cell(first, g)] = least;
    }
    for (std::int32_t g = 0; g < groups; ++g) {
      Nanos least = kNoPlan;
      for (const GroupEdge& edge : graph_[g].next) {
        const Nanos rest = round_trip(first, edge.to);
        if (rest < kNoPlan) least = std::min(least, channel(edge, first).round_trip + rest);
      }
      round_trip_next_[cell(first, g)] = least;
    }
  }
}

/// The least bounds found so far for a stage that starts at some layer, and the ends of the stages
/// that have them. `busy` and `step` are two separate bounds, so they may belong to different ends.
struct Lookahead::Ends {
  std::int32_t busy_end = 0, step_end = 0;
  Nanos busy = 0, step = 0;
};

/// Updates `best` with the stage that ends before layer `last`. Returns false if longer stages need
/// not be tried because even the compute times of this stage exceed the two best bounds.
inline bool Lookahead::try_end(std::int32_t left, std::int32_t first, std::int32_t last,
                               std::int32_t group, Ends& best) const {
  const std::int32_t layers = task_.chain.size();
  const Nanos micros = task_.micro_batches;
  const bool may_end = stages_ == 0 || left == 1;
  const bool may_go_on = stages_ == 0 || left > 1;
  StageCost cost = times_of(first, last, group);
  if (micros * cost.keeping.path >= best.busy && micros * cost.keeping.work() >= best.step) {
    return false;
  }
  if (last == layers ? !may_end : !may_go_on) return true;
  Nanos busy_behind = 0, step_behind = 0, round_trip_behind = 0;
  if (last < layers) {
    const std::size_t next = behind(after(left), last, group);
    busy_behind = busy_next_[next];
    step_behind = step_next_[next];
    if (busy_behind == kNoPlan) return true;
    if (!round_trip_next_.empty()) round_trip_behind = round_trip_next_[cell(last, group)];
  }
  const auto time_of = [&](const StageMode& mode) {
    const Nanos busy =
        std::max(busy_in_rounds(task_.micro_batches, cost.forward, mode, round_trip_behind),
                 mode.path + busy_behind);
    const Nanos done = std::max(micros * mode.work(), busy + mode.later) + cost.reduce;
    return std::pair(busy, std::max(done, cost.forward + step_behind));
  };
  // Without all-reduce and memory the values are lower bounds of the final values.
  auto [busy, step] = time_of(cost.keeping);
  if (busy >= best.busy && step >= best.step) return true;
  complete(cost, first, last, group);
  if (!cost.possible) return !cost.too_large;
  std::tie(busy, step) = time_of(cost.keeping);
  if (cost.recomputing.fit > 0) {
    const auto recomputed = time_of(cost.recomputing);
    busy = std::min(busy, recomputed.first);
    step = std::min(step, recomputed.second);
  }
  if (busy < best.busy) {
    best.busy = busy;
    best.busy_end = last;
  }
  if (step < best.step) {
    best.step = step;
    best.step_end = last;
  }
  return true;
}

/// Fills the bounds of all stages that start at layer `first`. On entry `ends` holds the best ends
/// of the stages that start one layer later, which are likely to be good ends here, too.
void Lookahead::fill_stages(std::int32_t left, std::int32_t first, std::vector<Ends>& ends) {
  const std::int32_t layers = task_.chain.size();
  for (std::int32_t g = 0; g < static_cast<std::int32_t>(graph_.size()); ++g) {
    Ends& best = ends[g];
    best.busy = best.step = limit_;
    const std::int32_t guesses[] = {best.busy_end, best.step_end};
    for (const std::int32_t last : guesses) try_end(left, first, last, g, best);
    const std::size_t rest = row(after(left), g);
    for (std::int32_t last = first + 1; last <= layers; ++last) {
      // Skip a block of ends if the rest of the plan takes too long after every end of the block.
      while (last < layers && least_busy_next_.least(rest, last) >= best.busy &&
             least_step_next_.least(rest, last) >= best.step) {
        last = std::min(layers, (last / BlockMinima::kBlock + 1) * BlockMinima::kBlock);
      }
      if (!try_end(left, first, last, g, best)) break;
    }
    if (best.step >= limit_) continue;
    busy_[at(left, first, g)] = best.busy;
    step_[at(left, first, g)] = best.step;
  }
}

/// For every group whose stage ends before layer `first`, computes the least bounds over all next
/// groups. These bounds include the channel to the next group.
void Lookahead::fill_channels(std::int32_t left, std::int32_t first) {
  for (std::int32_t g = 0; g < static_cast<std::int32_t>(graph_.size()); ++g) {
    Nanos least_busy = kNoPlan, least_step = kNoPlan;
    for (const GroupEdge& edge : graph_[g].next) {
      const Nanos rest = busy(left, first, edge.to);
      if (rest == kNoPlan) continue;
      const Channel cost = channel(edge, first);
      least_busy = std::min(least_busy, std::max(cost.round_trip + rest, cost.busy));
      least_step = std::min(least_step, cost.forward + step(left, first, edge.to));
    }
    busy_next_[behind(left, first, g)] = least_busy;
    step_next_[behind(left, first, g)] = least_step;
    least_busy_next_.add(row(left, g), first, least_busy);
    least_step_next_.add(row(left, g), first, least_step);
  }
}

void Lookahead::fill(std::int32_t left) {
  const std::int32_t layers = task_.chain.size();
  std::vector<Ends> ends(graph_.size(), Ends{layers, layers, 0, 0});
  for (std::int32_t first = layers - 1; first >= 0; --first) {
    fill_stages(left, first, ends);
    fill_channels(left, first);
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
