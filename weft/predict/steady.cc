// SPDX-License-Identifier: Apache-2.0
#include "weft/predict/steady.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "weft/predict/steps.h"

namespace weft::predict {
namespace {

using graph::OpId;
using graph::OpKind;

/// Returns `sum` divided by the number of steps. The rounding error is added to `host`, so that the
/// parts still add up to `step`.
Breakdown mean_of(const Breakdown& sum, Nanos steps, Nanos step) {
  Breakdown mean{sum.compute / steps, sum.communication / steps, sum.waiting / steps, 0};
  mean.host = step - mean.total();
  return mean;
}

}  // namespace

SteadyState::Copies::Copies(const std::vector<std::uint32_t>& origin, std::size_t size)
    : first(size + 1) {
  for (const std::uint32_t from : origin) {
    if (from != graph::kNoId) ++first[from + 1];
  }
  std::partial_sum(first.begin(), first.end(), first.begin());
  items.resize(first.back());
  std::vector<std::uint32_t> next(first.begin(), first.end() - 1);
  for (std::uint32_t copy = 0; copy < origin.size(); ++copy) {
    if (origin[copy] != graph::kNoId) items[next[origin[copy]]++] = copy;
  }
}

Result<std::unique_ptr<const SteadyState>> SteadyState::make(const graph::Graph& graph,
                                                             const SteadyOptions& options) {
  std::vector<std::int64_t> sequence;
  for (int i = 0; i < options.repetitions; ++i) {
    sequence.insert(sequence.end(), options.steps.begin(), options.steps.end());
  }
  WEFT_ASSIGN(graph::Unrolled unrolled, graph::unroll(graph, sequence));
  return std::unique_ptr<const SteadyState>(new SteadyState(std::move(unrolled), graph, options));
}

SteadyState::SteadyState(graph::Unrolled unrolled, const graph::Graph& recorded,
                         const SteadyOptions& options)
    : graph_(std::move(unrolled.graph)),
      op_copies_(unrolled.op_origin, recorded.size()),
      edge_copies_(unrolled.edge_origin, recorded.edges.size()),
      steps_(options.steps.size()) {
  replay_.emplace(graph_);
  replay_->run();
  if (options.slowdown <= 1) return;
  std::vector<double> slowdown(graph_.size(), 1.0);
  for (OpId op = 0; op < graph_.size(); ++op) {
    if (graph_.ops.kind[op] == OpKind::kKernel) slowdown[op] = options.slowdown;
  }
  contention_.emplace(graph_, slowdown);
  contention_->settle(*replay_, graph_.ops.duration);
}

sim::Replay SteadyState::replay_with(const graph::Edit& times) const {
  sim::Replay replay = *replay_;
  if (times.empty()) return replay;
  std::vector<Nanos> work = graph_.ops.duration;
  for (const auto& [op, duration] : times.durations) {
    for (std::uint32_t i = op_copies_.first[op]; i < op_copies_.first[op + 1]; ++i) {
      work[op_copies_.items[i]] = duration;
    }
  }
  for (const auto& [edge, delay] : times.delays) {
    for (std::uint32_t i = edge_copies_.first[edge]; i < edge_copies_.first[edge + 1]; ++i) {
      replay.set_delay(edge_copies_.items[i], delay);
    }
  }
  if (contention_) {
    sim::Contention contention = *contention_;
    contention.settle(replay, work);
  } else {
    for (OpId op = 0; op < work.size(); ++op) replay.set_duration(op, work[op]);
    replay.run();
  }
  return replay;
}

Nanos SteadyState::step_with(const graph::Edit& edit) const {
  const StepTimes times = replayed_steps(replay_with(edit));
  Nanos slowest = 0;
  for (const std::vector<Nanos>& periods : times.period) {
    Nanos sum = 0;
    for (std::size_t s = periods.size() - steps_; s < periods.size(); ++s) {
      sum += std::max<Nanos>(0, periods[s]);
    }
    slowest = std::max(slowest, sum / static_cast<Nanos>(steps_));
  }
  return slowest;
}

StepPrediction SteadyState::measure(const graph::Edit& edit) const {
  const sim::Replay replay = replay_with(edit);
  const StepTimes times = replayed_steps(replay);
  StepPrediction result;
  result.ranks = times.ranks;
  std::vector<Window> windows;
  for (std::size_t r = 0; r < times.ranks.size(); ++r) {
    Nanos sum = 0, last = 0;
    std::vector<Nanos>& steps = result.rank_steps.emplace_back();
    for (std::size_t s = graph_.steps.size() - steps_; s < graph_.steps.size(); ++s) {
      steps.push_back(std::max<Nanos>(0, times.period[r][s]));
      sum += steps.back();
      last = std::max(last, times.end[r][s]);
    }
    result.rank_step.push_back(sum / static_cast<Nanos>(steps_));
    result.step = std::max(result.step, result.rank_step.back());
    windows.push_back({times.ranks[r], last - sum, last});
  }
  const auto parts = break_down(graph_, replay.starts(), replay.ends(), windows);
  // Find the slowest rank. Of the ranks within 0.1 % of the longest step, it is the one that
  // waits least.
  for (std::size_t r = 0; r < times.ranks.size(); ++r) {
    if (result.rank_step[r] < result.step - result.step / 1000) continue;
    const Breakdown mean = mean_of(parts[r], static_cast<Nanos>(steps_), result.rank_step[r]);
    if (result.slowest_rank >= 0 && mean.waiting >= result.breakdown.waiting) continue;
    result.slowest_rank = times.ranks[r];
    result.breakdown = mean;
  }
  return result;
}

}  // namespace weft::predict
