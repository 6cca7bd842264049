// SPDX-License-Identifier: Apache-2.0
// Makes the plans with a dynamic program. Its state is the number of stages left, the layer, and
// the group of the next stage. Its value is the least possible time of the slowest stage or channel
// from there on. Like Lookahead, the program alternates between stages and channels, guesses the
// best end of a stage from the stage that starts one layer later, and skips blocks of ends that
// cannot be better. The plans are read off the finished table by repeating the decisions that led
// to its values.
#include "weft/pipeline/rivals/bottleneck.h"

#include <algorithm>
#include <limits>

#include "weft/pipeline/plan/block_minima.h"
#include "weft/pipeline/plan/lookahead.h"

namespace weft::pipeline {
namespace {

class Table {
 public:
  Table(const Task& task, const GroupGraph& graph, std::int32_t most)
      : chain_(task.chain), graph_(graph), most_(most) {
    const std::size_t cells = static_cast<std::size_t>(most + 1) * chain_.size() * graph.size();
    best_.assign(cells, kNoPlan);
    next_.assign(cells, kNoPlan);
    least_ = BlockMinima(row(most + 1, 0), chain_.size(), kNoPlan);
    for (std::int32_t stages = 1; stages <= most; ++stages) fill(stages);
  }

  /// The best plan with this number of stages; empty if there is none.
  std::vector<PlannedStage> plan(std::int32_t stages) const {
    std::int32_t group = -1, layer = 0;
    for (std::size_t g = 0; g < graph_.size(); ++g) {
      const auto candidate = static_cast<std::int32_t>(g);
      if (!graph_[g].first || best_[at(stages, 0, candidate)] == kNoPlan) continue;
      if (group < 0 || best_[at(stages, 0, candidate)] < best_[at(stages, 0, group)]) {
        group = candidate;
      }
    }
    std::vector<PlannedStage> plan;
    for (; group >= 0 && stages > 0; --stages) {
      const Nanos value = best_[at(stages, layer, group)];
      const std::int32_t last = end_of(stages, layer, group, value);
      plan.push_back({layer, last, graph_[group].devices, false});
      if (stages > 1) group = group_behind(stages, last, group);
      layer = last;
    }
    return plan;
  }

 private:
  std::size_t at(std::int32_t stages, std::int32_t layer, std::int32_t group) const {
    return (static_cast<std::size_t>(stages) * chain_.size() + layer) * graph_.size() + group;
  }
  /// An index that counts by group, then layer, because the search for the best end of a stage
  /// scans all layers of one group.
  std::size_t behind(std::int32_t stages, std::int32_t layer, std::int32_t group) const {
    return row(stages, group) * chain_.size() + layer;
  }
  std::size_t row(std::int32_t stages, std::int32_t group) const {
    return static_cast<std::size_t>(stages) * graph_.size() + group;
  }
  Nanos work(std::int32_t first, std::int32_t last, std::int32_t group) const {
    const Nanos sum = chain_.forward[last] - chain_.forward[first] + chain_.backward[last] -
                      chain_.backward[first];
    return static_cast<Nanos>(graph_[group].cost.work * static_cast<double>(sum));
  }
  /// The time of a channel. As in SPP, it is the time of a forward and a backward message together.
  Nanos channel(const GroupEdge& edge, std::int32_t layer) const {
    return static_cast<Nanos>((edge.forward + edge.backward) *
                              static_cast<double>(chain_.cut[layer]));
  }
  /// Whether the group has the links to all-reduce the gradients of these layers.
  bool possible(std::int32_t first, std::int32_t last, std::int32_t group) const {
    return graph_[group].cost.reduce < std::numeric_limits<double>::infinity() ||
           chain_.parameters[last] == chain_.parameters[first];
  }

  void fill(std::int32_t stages) {
    const std::int32_t layers = chain_.size();
    // Indexed by group: the best end of a stage that starts one layer later. It is a good first
    // guess for a stage that starts here.
    std::vector<std::int32_t> end(graph_.size(), layers);
    for (std::int32_t first = layers - 1; first >= 0; --first) {
      for (std::size_t g = 0; g < graph_.size(); ++g) {
        const auto group = static_cast<std::int32_t>(g);
        Nanos least = kNoPlan;
        // Returns false if longer stages need not be tried, because this stage is too long already.
        const auto try_end = [&](std::int32_t last) {
          const Nanos own = work(first, last, group);
          if (own >= least) return false;
          if ((last == layers) != (stages == 1) || !possible(first, last, group)) return true;
          const Nanos rest = stages == 1 ? 0 : next_[behind(stages - 1, last, group)];
          if (std::max(own, rest) < least) {
            least = std::max(own, rest);
            end[g] = last;
          }
          return true;
        };
        try_end(end[g]);
        for (std::int32_t last = stages == 1 ? layers : first + 1; last <= layers; ++last) {
          while (last < layers && least_.least(row(stages - 1, group), last) >= least) {
            last = std::min(layers, (last / BlockMinima::kBlock + 1) * BlockMinima::kBlock);
          }
          if (!try_end(last)) break;
        }
        best_[at(stages, first, group)] = least;
      }
      for (std::size_t g = 0; g < graph_.size(); ++g) {
        Nanos& least = next_[behind(stages, first, static_cast<std::int32_t>(g))];
        for (const GroupEdge& edge : graph_[g].next) {
          least =
              std::min(least, std::max(channel(edge, first), best_[at(stages, first, edge.to)]));
        }
        least_.add(row(stages, static_cast<std::int32_t>(g)), first, least);
      }
    }
  }

  /// Finds the end of the stage for which the table has this value.
  std::int32_t end_of(std::int32_t stages, std::int32_t first, std::int32_t group,
                      Nanos value) const {
    if (stages == 1) return chain_.size();
    for (std::int32_t last = first + 1; last < chain_.size(); ++last) {
      if (!possible(first, last, group)) continue;
      const Nanos rest = next_[behind(stages - 1, last, group)];
      if (std::max(work(first, last, group), rest) == value) return last;
    }
    return chain_.size();
  }
  /// A stage on `group` ends before `layer`. Finds the group of the next stage.
  std::int32_t group_behind(std::int32_t stages, std::int32_t layer, std::int32_t group) const {
    const Nanos value = next_[behind(stages - 1, layer, group)];
    for (const GroupEdge& edge : graph_[group].next) {
      if (std::max(channel(edge, layer), best_[at(stages - 1, layer, edge.to)]) == value) {
        return edge.to;
      }
    }
    return -1;
  }

  const LayerChain& chain_;
  const GroupGraph& graph_;
  std::int32_t most_;
  std::vector<Nanos> best_;  ///< by stages left, layer, and group of the next stage
  /// Indexed by stages left, layer, and group of the stage before the layer. The values include the
  /// channel from that group.
  std::vector<Nanos> next_;
  BlockMinima least_;  ///< block minima of next_
};

}  // namespace

std::vector<std::vector<PlannedStage>> bottleneck_plans(const Task& task, const GroupGraph& graph,
                                                        std::int32_t most) {
  const Table table(task, graph, most);
  std::vector<std::vector<PlannedStage>> plans;
  for (std::int32_t stages = 1; stages <= most; ++stages) {
    std::vector<PlannedStage> plan = table.plan(stages);
    if (static_cast<std::int32_t>(plan.size()) == stages) plans.push_back(std::move(plan));
  }
  return plans;
}

}  // namespace weft::pipeline
