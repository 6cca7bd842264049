// SPDX-License-Identifier: Apache-2.0
// Makes the plan with a dynamic program over the numbers of layers and devices used so far. For
// each such pair of numbers it keeps only one partial plan, as DAPPLE does: the partial plan whose
// completed plan has the best estimate. The estimate of a plan is not a sum over its stages, so the
// result need not be the best plan by the estimate.
#include "weft/pipeline/rivals/dapple.h"

#include <algorithm>
#include <limits>

namespace weft::pipeline {
namespace {

/// A stage, or a channel between two stages. Times in nanoseconds.
struct Block {
  double half = 0;    ///< (forward + backward) / 2, which counts as the time of each
  double reduce = 0;  ///< all-reduce
};

/// DAPPLE's estimate of the step, see dapple.h.
double estimate(const std::vector<Block>& blocks, Micro micro_batches) {
  const double again = micro_batches - 1;
  const auto steady = [&](std::size_t s) { return again * 2 * blocks[s].half; };
  // The pivot starts as the last block and moves towards the first. It moves to each block whose
  // steady phase is longer than the steady phase of the pivot plus the time between the two.
  std::size_t pivot = blocks.size() - 1;
  for (std::size_t s = pivot; s-- > 0;) {
    double between = 0;
    for (std::size_t a = s + 1; a < pivot; ++a) between += 2 * blocks[a].half;
    if (steady(s) > steady(pivot) + between) pivot = s;
  }
  double time = steady(pivot);
  for (std::size_t s = 0; s <= pivot; ++s) time += blocks[s].half;
  double ending = 0, backwards = 0;
  for (std::size_t s = pivot + 1; s-- > 0;) {
    backwards += blocks[s].half;
    ending = std::max(ending, blocks[s].reduce + backwards);
  }
  backwards = blocks[pivot].half;
  for (std::size_t s = pivot + 1; s < blocks.size(); ++s) {
    backwards += blocks[s].half;
    ending = std::max(ending, blocks[s].reduce - backwards);
  }
  return time + ending;
}

class DapplePlanner {
 public:
  explicit DapplePlanner(const Task& task) : task_(task) {}

  std::vector<PlannedStage> run() {
    const std::int32_t layers = task_.chain.size(), devices = task_.cluster.devices;
    // begun[l][d]: the best partial plan for the first l layers on the first d devices, by the
    // estimate of the plan that completes it with one stage.
    std::vector<std::vector<Begun>> begun(layers, std::vector<Begun>(devices));
    begun[0][0].estimate = 0;
    best_.estimate = finish({}, 0, 0);
    for (std::int32_t layer = 0; layer < layers; ++layer) {
      for (std::int32_t used = 0; used < devices; ++used) {
        const Begun& start = begun[layer][used];
        if (start.estimate == kNever) continue;
        for (std::int32_t last = layer + 1; last < layers; ++last) {
          for (std::int32_t next = used + 1; next < devices; ++next) {
            Begun longer{0, start.stages};
            longer.stages.push_back(stage(layer, last, used, next));
            longer.estimate = finish(longer.stages, last, next);
            if (longer.estimate < best_.estimate) best_ = longer;
            if (longer.estimate < begun[last][next].estimate) begun[last][next] = std::move(longer);
          }
        }
      }
    }
    const std::int32_t first = best_.stages.empty() ? 0 : best_.stages.back().last;
    const auto used = best_.stages.empty() ? 0 : best_.stages.back().devices.back() + 1;
    best_.stages.push_back(stage(first, layers, used, devices));
    return std::move(best_.stages);
  }

 private:
  static constexpr double kNever = std::numeric_limits<double>::infinity();
  /// A partial plan.
  struct Begun {
    double estimate = kNever;
    std::vector<PlannedStage> stages;
  };

  PlannedStage stage(std::int32_t first, std::int32_t last, std::int32_t from,
                     std::int32_t to) const {
    PlannedStage planned{first, last, {}, false};
    for (std::int32_t device = from; device < to; ++device) planned.devices.push_back(device);
    return planned;
  }

  Block block(const PlannedStage& planned) const {
    const LayerChain& chain = task_.chain;
    const GroupCost cost = group_cost(task_.cluster, planned.devices);
    const auto work =
        static_cast<double>(chain.forward[planned.last] - chain.forward[planned.first] +
                            chain.backward[planned.last] - chain.backward[planned.first]);
    const Bytes parameters = chain.parameters[planned.last] - chain.parameters[planned.first];
    return {work * cost.work / 2,
            parameters > 0 ? cost.reduce * static_cast<double>(parameters) : 0};
  }

  /// The estimate of the plan that completes these stages with one stage, which has all layers and
  /// devices left.
  double finish(std::vector<PlannedStage> stages, std::int32_t layer, std::int32_t used) const {
    stages.push_back(stage(layer, task_.chain.size(), used, task_.cluster.devices));
    std::vector<Block> blocks;
    for (std::size_t s = 0; s < stages.size(); ++s) {
      if (s > 0) {
        const double rate =
            channel_cost(task_.cluster, stages[s - 1].devices, stages[s].devices).per_byte;
        blocks.push_back({rate * static_cast<double>(task_.chain.cut[stages[s].first]), 0});
      }
      blocks.push_back(block(stages[s]));
    }
    return estimate(blocks, task_.micro_batches);
  }

  const Task& task_;
  Begun best_;
};

}  // namespace

std::vector<PlannedStage> dapple_stages(const Task& task) { return DapplePlanner(task).run(); }

}  // namespace weft::pipeline
