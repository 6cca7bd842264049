// SPDX-License-Identifier: Apache-2.0
// The search has three phases:
//  1. Candidates. For each sequence of groups, each number of chunks and each visiting order, the
//     layers are cut by even work and the plan is simulated. Plans much longer than the best known
//     plan are dropped by their bound.
//  2. Local search on the most promising candidates, for half of the effort that is left.
//  3. A search for a better order of micro-batches for each of these candidates, with the other
//     half of the effort.
#include "weft/pipeline/plan/interleave.h"

#include <algorithm>

namespace weft::pipeline {
namespace {

using Stages = std::vector<PlannedStage>;
/// The devices of each group, in the order of the first stages of the groups.
using GroupSequence = std::vector<std::vector<std::int32_t>>;

constexpr std::size_t kMostClimbed = 16;  ///< candidates that get a local search
/// Most groups for which split_to_group() is tried; the number of its moves grows with the square
/// of the number of groups.
constexpr std::size_t kMostSplitGroups = 8;
/// Up to this many devices all sequences of groups are enumerated: 4 devices have 149 of them.
constexpr std::int32_t kMostEnumerated = 4;

/// The groups of a plan.
GroupSequence sequence_of_plan(const Stages& stages) {
  GroupSequence groups;
  for (const PlannedStage& stage : stages) {
    if (std::find(groups.begin(), groups.end(), stage.devices) == groups.end()) {
      groups.push_back(stage.devices);
    }
  }
  return groups;
}

/// Cuts an order of devices into equal parts. `groups` must divide the number of devices.
GroupSequence equal_parts(const std::vector<std::int32_t>& order, std::int32_t groups) {
  GroupSequence parts;
  const std::size_t size = order.size() / static_cast<std::size_t>(groups);
  for (std::size_t at = 0; at < order.size(); at += size) {
    const auto begin = order.begin() + static_cast<std::ptrdiff_t>(at);
    parts.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(size));
    std::sort(parts.back().begin(), parts.back().end());
  }
  return parts;
}

/// The order in which stages visit the groups, for groups 0 1 2 and two chunks: round robin is
/// 0 1 2 0 1 2; back and forth is 0 1 2 2 1 0; merged back and forth is 0 1 2 1 0, where the two
/// stages at the turn are one.
enum class Visit { kRoundRobin, kBackAndForth, kMergedBackAndForth };

/// The group of each stage, as an index into the sequence of groups.
std::vector<std::int32_t> visits_of(Visit visit, std::int32_t groups, std::int32_t chunks) {
  std::vector<std::int32_t> visits;
  for (std::int32_t i = 0; i < groups * chunks; ++i) {
    const std::int32_t round = i / groups, place = i % groups;
    const bool reversed = visit != Visit::kRoundRobin && round % 2 == 1;
    const std::int32_t group = reversed ? groups - 1 - place : place;
    const bool is_turn = !visits.empty() && visits.back() == group;
    if (visit == Visit::kMergedBackAndForth && is_turn) continue;
    visits.push_back(group);
  }
  return visits;
}

/// Appends to `out` every sequence of disjoint groups that starts with `groups` and continues with
/// devices that are not in the bit mask `used`.
void all_sequences(std::int32_t devices, std::uint32_t used, GroupSequence& groups,
                   std::vector<GroupSequence>& out) {
  if (!groups.empty()) out.push_back(groups);
  for (std::uint32_t set = 1; set < 1u << devices; ++set) {
    if ((set & used) != 0) continue;
    auto& group = groups.emplace_back();
    for (std::int32_t d = 0; d < devices; ++d) {
      if ((set >> d & 1) != 0) group.push_back(d);
    }
    all_sequences(devices, used | set, groups, out);
    groups.pop_back();
  }
}

/// Returns sequences of groups: each order of the devices cut into equal parts, and cut anywhere
/// into two parts.
std::vector<GroupSequence> sequences_along(const std::vector<std::vector<std::int32_t>>& orders) {
  std::vector<GroupSequence> sequences;
  const auto count = static_cast<std::int32_t>(orders.front().size());
  for (std::int32_t groups = 1; groups <= count; ++groups) {
    if (count % groups != 0) continue;
    for (const auto& order : orders) sequences.push_back(equal_parts(order, groups));
  }
  // If there are many devices, only about sixteen places are tried for the cut between two parts.
  const std::int32_t step = std::max(1, count / 16);
  for (const auto& order : orders) {
    for (std::int32_t first = step; first < count; first += step) {
      const auto middle = order.begin() + first;
      GroupSequence parts{{order.begin(), middle}, {middle, order.end()}};
      for (auto& group : parts) std::sort(group.begin(), group.end());
      sequences.push_back(std::move(parts));
    }
  }
  return sequences;
}

class Interleaver {
 public:
  Interleaver(const Task& task, Evaluator& evaluator, const InterleaveLimits& limits,
              Evaluated best)
      : task_(task), evaluator_(evaluator), limits_(limits), best_(std::move(best)) {
    evaluator_.stop_at(limits_.ops);
    if (best_.step < kNoStep) starts_.push_back(best_);
  }

  /// Adds the candidate plans whose stages visit these groups: for every number of chunks and every
  /// kind of visit.
  void add_candidates(const GroupSequence& groups) {
    if (std::find(tried_.begin(), tried_.end(), groups) != tried_.end()) return;
    tried_.push_back(groups);
    for (const auto& group : groups) {
      const auto size = static_cast<std::int32_t>(group.size());
      if (limits_.replicas > 0 && size > limits_.replicas) return;
    }
    for (std::int32_t chunks = 2; chunks <= limits_.chunks; ++chunks) {
      for (const Visit visit :
           {Visit::kRoundRobin, Visit::kBackAndForth, Visit::kMergedBackAndForth}) {
        if (spent()) return;
        const std::vector<std::int32_t> visits =
            visits_of(visit, static_cast<std::int32_t>(groups.size()), chunks);
        const auto count = static_cast<std::int32_t>(visits.size());
        if (count > task_.chain.size()) continue;
        if (limits_.stages == 0 || count == limits_.stages) offer(even_stages(groups, visits));
      }
    }
  }

  /// Phases 2 and 3: improves the most promising candidates and returns the best plan.
  Evaluated run() {
    std::stable_sort(starts_.begin(), starts_.end(),
                     [](const Evaluated& a, const Evaluated& b) { return a.step < b.step; });
    if (starts_.size() > kMostClimbed) starts_.resize(kMostClimbed);
    // Half of the effort left is for the local search, the other half for orders of micro-batches.
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
    // Even cuts are rarely the best ones, so candidates up to an eighth above the best step are
    // kept: the local search may still bring them below it.
    const Nanos limit = best_.step == kNoStep ? kNoStep : best_.step + best_.step / 8;
    auto result = evaluator_.evaluate(stages, limit);
    if (result && result->step < kNoStep) starts_.push_back(std::move(*result));
  }

  /// Cuts the layers so that each group gets work in proportion to its speed. The stages of a group
  /// get equal parts of its work.
  Stages even_stages(const GroupSequence& groups, const std::vector<std::int32_t>& visits) const {
    std::vector<double> part(groups.size());
    double all = 0;
    for (std::size_t g = 0; g < groups.size(); ++g) {
      const double speed = 1 / group_cost(task_.cluster, groups[g]).work;
      const auto chunks = std::count(visits.begin(), visits.end(), static_cast<std::int32_t>(g));
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
    const auto count = static_cast<std::int32_t>(visits.size());
    for (std::int32_t s = 0; s < count; ++s) {
      done += part[visits[s]] / all * work(chain.size());
      const std::int32_t most = chain.size() - (count - 1 - s);  // each later stage needs a layer
      std::int32_t last = first + 1;
      while (last < most && work(last) + work(last + 1) <= 2 * done) ++last;
      if (s + 1 == count) last = chain.size();
      stages.push_back({first, last, groups[visits[s]], false});
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

  /// Hill climbing from one plan. Under memory limits the choice of stages that recompute normally
  /// stays fixed, because trying all choices for each move is expensive. Once such moves find no
  /// better plan, one thorough round also tries other choices of stages that recompute.
  void climb(Evaluated& plan) {
    thorough_ = false;
    for (bool better = true; (better || may_be_thorough()) && !spent();) {
      thorough_ = !better;
      better = false;
      for (std::size_t s = 0; s + 1 < plan.stages.size(); ++s) {
        for (const std::int32_t by : {1, -1, 3, -3}) {
          better |= move_cuts(plan, s, s, by);
          // Moving both cuts of a stage shifts the stage along the layers.
          if (s + 2 < plan.stages.size()) better |= move_cuts(plan, s, s + 1, by);
        }
      }
      if (!better && task_.limit_memory) better = flip_recomputation(plan);
      if (!better && limits_.stages == 0) better = drop_stage(plan) || split_to_group(plan);
    }
  }

  /// Switches the recomputation of each stage on or off.
  bool flip_recomputation(Evaluated& plan) {
    bool better = false;
    for (std::size_t s = 0; s < plan.stages.size(); ++s) {
      Stages stages = plan.stages;
      stages[s].recompute = !stages[s].recompute;
      better |= take_if_better(plan, stages);
    }
    return better;
  }

  bool may_be_thorough() const { return task_.limit_memory && !thorough_; }

  /// Removes a stage and gives its layers to the stage before or behind it.
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

  /// Splits a stage in the middle. One half becomes a new stage on some group, which may be the
  /// group of the stage itself.
  bool split_to_group(Evaluated& plan) {
    const GroupSequence groups = sequence_of_plan(plan.stages);
    if (groups.size() > kMostSplitGroups) return false;
    for (std::size_t s = 0; s < plan.stages.size(); ++s) {
      const PlannedStage stage = plan.stages[s];
      const std::int32_t middle = (stage.first + stage.last) / 2;
      if (middle == stage.first) continue;
      for (const auto& group : groups) {
        const auto own = std::count_if(plan.stages.begin(), plan.stages.end(),
                                       [&](const auto& other) { return other.devices == group; });
        if (own >= limits_.chunks) continue;
        for (const bool front : {false, true}) {
          if (front && group == stage.devices) continue;  // the same plan as with the back half
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

  /// Shifts the ends of stages `from` to `to` by the same number of layers.
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
  std::vector<GroupSequence> tried_;
  std::vector<Evaluated> starts_;  ///< candidates for the local search
  bool thorough_ = false;          ///< whether moves also try other choices of recomputation
};

}  // namespace

Evaluated interleave(const Task& task, Evaluator& evaluator, const InterleaveLimits& limits,
                     const std::vector<std::vector<std::int32_t>>& orders, Evaluated best) {
  GroupSequence own;
  if (best.step < kNoStep) own = sequence_of_plan(best.stages);
  Interleaver search(task, evaluator, limits, std::move(best));
  // The groups of the best known plan come first, because the effort may end early.
  if (!own.empty()) search.add_candidates(own);
  std::vector<GroupSequence> sequences;
  GroupSequence none;
  if (task.cluster.devices <= kMostEnumerated)
    all_sequences(task.cluster.devices, 0, none, sequences);
  else
    sequences = sequences_along(orders);
  for (const GroupSequence& groups : sequences) search.add_candidates(groups);
  return search.run();
}

}  // namespace weft::pipeline
