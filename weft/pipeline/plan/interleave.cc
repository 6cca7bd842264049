// SPDX-License-Identifier: Apache-2.0
#include "weft/pipeline/plan/interleave.h"

#include <algorithm>

namespace weft::pipeline {
namespace {

using Stages = std::vector<PlannedStage>;
using Row = std::vector<std::vector<std::int32_t>>;  ///< groups, in the order of their first stages

constexpr std::size_t kMostClimbed = 16;
constexpr std::size_t kMostGiven = 8;    ///< groups among which single stages change hands
constexpr std::int32_t kMostFreely = 4;  ///< devices up to which all rows of groups are tried

/// The groups of a plan.
Row row_of(const Stages& stages) {
  Row row;
  for (const PlannedStage& stage : stages) {
    if (std::find(row.begin(), row.end(), stage.devices) == row.end()) row.push_back(stage.devices);
  }
  return row;
}

/// `groups` equal parts of an order, one behind the other.
Row equal_parts(const std::vector<std::int32_t>& order, std::int32_t groups) {
  Row row;
  const std::size_t size = order.size() / static_cast<std::size_t>(groups);
  for (std::size_t at = 0; at < order.size(); at += size) {
    const auto begin = order.begin() + static_cast<std::ptrdiff_t>(at);
    row.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(size));
    std::sort(row.back().begin(), row.back().end());
  }
  return row;
}

/// How stages follow each other on groups 0 1 2: 0 1 2 0 1 2, 0 1 2 2 1 0, 0 1 2 1 0.
enum class Shape { kRounds, kTurns, kReturn };

std::vector<std::int32_t> sequence_of(Shape shape, const Row& row, std::int32_t chunks) {
  const auto groups = static_cast<std::int32_t>(row.size());
  std::vector<std::int32_t> sequence;
  for (std::int32_t i = 0; i < groups * chunks; ++i) {
    const std::int32_t round = i / groups, place = i % groups;
    const bool back = shape != Shape::kRounds && round % 2 == 1;
    const std::int32_t group = back ? groups - 1 - place : place;
    if (shape == Shape::kReturn && !sequence.empty() && sequence.back() == group) continue;
    sequence.push_back(group);
  }
  return sequence;
}

/// All rows of disjoint groups of the devices that are not in `used`, behind those in `row`.
void all_rows(std::int32_t devices, std::uint32_t used, Row& row, std::vector<Row>& out) {
  if (!row.empty()) out.push_back(row);
  for (std::uint32_t set = 1; set < 1u << devices; ++set) {
    if ((set & used) != 0) continue;
    auto& group = row.emplace_back();
    for (std::int32_t d = 0; d < devices; ++d) {
      if ((set >> d & 1) != 0) group.push_back(d);
    }
    all_rows(devices, used | set, row, out);
    row.pop_back();
  }
}

/// Rows along the orders: equal parts, and any two.
std::vector<Row> rows_along(const std::vector<std::vector<std::int32_t>>& orders) {
  std::vector<Row> rows;
  const auto count = static_cast<std::int32_t>(orders.front().size());
  for (std::int32_t groups = 1; groups <= count; ++groups) {
    if (count % groups != 0) continue;
    for (const auto& order : orders) rows.push_back(equal_parts(order, groups));
  }
  const std::int32_t step = std::max(1, count / 16);
  for (const auto& order : orders) {
    for (std::int32_t first = step; first < count; first += step) {
      const auto middle = order.begin() + first;
      Row row{{order.begin(), middle}, {middle, order.end()}};
      for (auto& group : row) std::sort(group.begin(), group.end());
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

class Interleaver {
 public:
  Interleaver(const Task& task, Evaluator& evaluator, const InterleaveLimits& limits,
              Evaluated best)
      : task_(task), evaluator_(evaluator), limits_(limits), best_(std::move(best)) {
    evaluator_.stop_at(limits_.ops);
    if (best_.step < kNoStep) starts_.push_back(best_);
  }

  void try_row(const Row& row) {
    if (std::find(rows_.begin(), rows_.end(), row) != rows_.end()) return;
    rows_.push_back(row);
    for (const auto& group : row) {
      const auto size = static_cast<std::int32_t>(group.size());
      if (limits_.replicas > 0 && size > limits_.replicas) return;
    }
    for (std::int32_t chunks = 2; chunks <= limits_.chunks; ++chunks) {
      for (const Shape shape : {Shape::kRounds, Shape::kTurns, Shape::kReturn}) {
        if (spent()) return;
        const std::vector<std::int32_t> sequence = sequence_of(shape, row, chunks);
        const auto count = static_cast<std::int32_t>(sequence.size());
        if (count > task_.chain.size()) continue;
        if (limits_.stages == 0 || count == limits_.stages) offer(even_stages(row, sequence));
      }
    }
  }

  /// The most promising ones with their cuts moved.
  Evaluated run() {
    std::stable_sort(starts_.begin(), starts_.end(),
                     [](const Evaluated& a, const Evaluated& b) { return a.step < b.step; });
    if (starts_.size() > kMostClimbed) starts_.resize(kMostClimbed);
    // Half of the effort is for cuts, the other half for orders of the best of them.
    const std::int64_t all = limits_.ops;
    limits_.ops -= std::max<std::int64_t>(0, all - evaluator_.ops()) / 2;
    for (Evaluated& start : starts_) climb(start);
    limits_.ops = all;
    std::stable_sort(starts_.begin(), starts_.end(),
                     [](const Evaluated& a, const Evaluated& b) { return a.step < b.step; });
    for (Evaluated& start : starts_) {
      if (start.step < best_.step) best_ = start;
      if (spent()) continue;
      auto searched = evaluator_.search(start.stages, best_.step);
      if (searched && searched->step < best_.step) best_ = std::move(*searched);
    }
    return std::move(best_);
  }

 private:
  bool spent() const { return evaluator_.ops() >= limits_.ops; }

  void offer(const Stages& stages) {
    // Even cuts are seldom the best ones: what is a little too slow may still win.
    const Nanos limit = best_.step == kNoStep ? kNoStep : best_.step + best_.step / 8;
    auto result = evaluator_.evaluate(stages, limit);
    if (result && result->step < kNoStep) starts_.push_back(std::move(*result));
  }

  /// Cuts that give each stage its part of the work of its group, which has as much as it is fast.
  Stages even_stages(const Row& row, const std::vector<std::int32_t>& sequence) const {
    std::vector<double> part(row.size());
    double all = 0;
    for (std::size_t g = 0; g < row.size(); ++g) {
      const double speed = 1 / group_cost(task_.cluster, row[g]).work;
      const auto chunks =
          std::count(sequence.begin(), sequence.end(), static_cast<std::int32_t>(g));
      part[g] = speed / static_cast<double>(chunks);
      all += speed;
    }
    const LayerChain& chain = task_.chain;
    const auto work = [&](std::int32_t i) {
      return static_cast<double>(chain.forward[i] + chain.backward[i]);
    };
    Stages stages;
    double done = 0;
    std::int32_t first = 0;
    const auto count = static_cast<std::int32_t>(sequence.size());
    for (std::int32_t s = 0; s < count; ++s) {
      done += part[sequence[s]] / all * work(chain.size());
      const std::int32_t most = chain.size() - (count - 1 - s);
      std::int32_t last = first + 1;
      while (last < most && work(last) + work(last + 1) <= 2 * done) ++last;
      if (s + 1 == count) last = chain.size();
      stages.push_back({first, last, row[sequence[s]], false});
      first = last;
    }
    return stages;
  }

  bool take_if_better(Evaluated& plan, const Stages& stages) {
    if (spent()) return false;
    auto result = thorough_ ? evaluator_.improve(stages, plan.step)
                            : evaluator_.improve_as_given(stages, plan.step);
    if (!result || result->step >= plan.step) return false;
    plan = std::move(*result);
    return true;
  }

  /// Where memory is tight, stuck climbs go on with all that could be computed again at each step.
  void climb(Evaluated& plan) {
    thorough_ = false;
    for (bool better = true; (better || may_be_thorough()) && !spent();) {
      thorough_ = !better;
      better = false;
      for (std::size_t s = 0; s + 1 < plan.stages.size(); ++s) {
        for (const std::int32_t by : {1, -1, 3, -3}) {
          better |= move_cuts(plan, s, s, by);
          // Two cuts together move a whole stage.
          if (s + 2 < plan.stages.size()) better |= move_cuts(plan, s, s + 1, by);
        }
      }
      if (!better && task_.limit_memory) better = change_ways(plan);
      if (!better && limits_.stages == 0) better = drop_stage(plan) || give_part(plan);
    }
  }

  /// A stage recomputes, or no longer does.
  bool change_ways(Evaluated& plan) {
    bool better = false;
    for (std::size_t s = 0; s < plan.stages.size(); ++s) {
      Stages stages = plan.stages;
      stages[s].recompute = !stages[s].recompute;
      better |= take_if_better(plan, stages);
    }
    return better;
  }

  bool may_be_thorough() const { return task_.limit_memory && !thorough_; }

  /// Layers of one stage go to a neighbour.
  bool drop_stage(Evaluated& plan) {
    for (std::size_t s = 0; s < plan.stages.size(); ++s) {
      for (const bool to_next : {false, true}) {
        if (to_next ? s + 1 == plan.stages.size() : s == 0) continue;
        Stages stages = plan.stages;
        if (to_next)
          stages[s + 1].first = stages[s].first;
        else
          stages[s - 1].last = stages[s].last;
        stages.erase(stages.begin() + static_cast<std::ptrdiff_t>(s));
        if (take_if_better(plan, stages)) return true;
      }
    }
    return false;
  }

  /// Half of the layers of a stage become one of another group, or one more of its own.
  bool give_part(Evaluated& plan) {
    const Row row = row_of(plan.stages);
    if (row.size() > kMostGiven) return false;
    for (std::size_t s = 0; s < plan.stages.size(); ++s) {
      const PlannedStage stage = plan.stages[s];
      const std::int32_t middle = (stage.first + stage.last) / 2;
      if (middle == stage.first) continue;
      for (const auto& group : row) {
        const auto own = std::count_if(plan.stages.begin(), plan.stages.end(),
                                       [&](const auto& other) { return other.devices == group; });
        if (own >= limits_.chunks) continue;
        for (const bool front : {false, true}) {
          if (front && group == stage.devices) continue;  // the same
          Stages stages = plan.stages;
          stages[s] = {stage.first, middle, front ? group : stage.devices, false};
          stages.insert(stages.begin() + static_cast<std::ptrdiff_t>(s) + 1,
                        {middle, stage.last, front ? stage.devices : group, false});
          if (take_if_better(plan, stages)) return true;
        }
      }
    }
    return false;
  }

  bool move_cuts(Evaluated& plan, std::size_t from, std::size_t to, std::int32_t by) {
    Stages stages = plan.stages;
    for (std::size_t s = from; s <= to; ++s) stages[s].last = stages[s + 1].first += by;
    for (const PlannedStage& stage : stages) {
      if (stage.first >= stage.last) return false;
    }
    return take_if_better(plan, stages);
  }

  const Task& task_;
  Evaluator& evaluator_;
  InterleaveLimits limits_;
  Evaluated best_;
  std::vector<Row> rows_;
  std::vector<Evaluated> starts_;
  bool thorough_ = false;
};

}  // namespace

Evaluated interleave(const Task& task, Evaluator& evaluator, const InterleaveLimits& limits,
                     const std::vector<std::vector<std::int32_t>>& orders, Evaluated best) {
  Row own;
  if (best.step < kNoStep) own = row_of(best.stages);
  Interleaver search(task, evaluator, limits, std::move(best));
  if (!own.empty()) search.try_row(own);
  std::vector<Row> rows;
  Row none;
  if (task.cluster.devices <= kMostFreely)
    all_rows(task.cluster.devices, 0, none, rows);
  else
    rows = rows_along(orders);
  for (const Row& row : rows) search.try_row(row);
  return search.run();
}

}  // namespace weft::pipeline
