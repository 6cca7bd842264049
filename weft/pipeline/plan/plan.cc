// SPDX-License-Identifier: Apache-2.0
// Turns plans into pipelines by the rules in plan.h. Planners ask for thousands of pipelines, so
// the work is split by what changes: pipeline_without_limits() sets times, messages and
// all-reduces; set_memory() sets memory; set_recomputation() redoes only times and memory. The
// costs of groups and channels come from ClusterCosts.
#include "weft/pipeline/plan/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "weft/base/size.h"
#include "weft/pipeline/plan/cluster_costs.h"

namespace weft::pipeline {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

double per_byte(std::int64_t bandwidth) {
  return bandwidth > 0 ? 1e9 / static_cast<double>(bandwidth) : kNever;
}

/// How many devices of a group are on one side of a shared link. Both lists are sorted.
double count(const std::vector<std::int32_t>& side, const std::vector<std::int32_t>& group) {
  double members = 0;
  if (side.empty() || side.back() < group.front() || side.front() > group.back()) return members;
  for (const std::int32_t device : group) {
    members += std::binary_search(side.begin(), side.end(), device) ? 1 : 0;
  }
  return members;
}

std::size_t replicas(const PlannedStage& stage) { return stage.devices.size(); }

}  // namespace

Bytes smallest_memory(const Cluster& cluster, const std::vector<std::int32_t>& devices) {
  Bytes smallest = std::numeric_limits<Bytes>::max();
  for (const std::int32_t device : devices) {
    const Bytes memory = cluster.memory[device];
    if (memory > 0) smallest = std::min(smallest, memory);
  }
  return smallest;
}

std::vector<DeviceId> groups_of(const std::vector<PlannedStage>& stages) {
  std::vector<DeviceId> group(stages.size());
  std::map<std::vector<std::int32_t>, DeviceId> known;
  for (std::size_t s = 0; s < stages.size(); ++s) {
    group[s] =
        known.try_emplace(stages[s].devices, static_cast<DeviceId>(known.size())).first->second;
  }
  return group;
}

namespace {

/// static_memory() for callers that already know the group of each stage.
template <class GroupOf>
std::vector<Bytes> static_memory_of(const Task& task, const std::vector<PlannedStage>& stages,
                                    GroupOf group) {
  const LayerChain& chain = task.chain;
  std::vector<Bytes> state, again;
  for (std::size_t s = 0; s < stages.size(); ++s) {
    const PlannedStage& stage = stages[s];
    const auto own = static_cast<std::size_t>(group(s));
    if (own == state.size()) {
      state.push_back(0);
      again.push_back(0);
    }
    state[own] +=
        task.state_factor * (chain.parameters[stage.last] - chain.parameters[stage.first]);
    if (!stage.recompute) continue;
    // A device recomputes one forward at a time, so the largest of its stages decides.
    const auto r = static_cast<Bytes>(replicas(stage));
    again[own] =
        std::max(again[own], (chain.stash[stage.last] - chain.stash[stage.first] + r - 1) / r);
  }
  for (std::size_t g = 0; g < state.size(); ++g) state[g] += again[g];
  return state;
}

}  // namespace

std::vector<Bytes> static_memory(const Task& task, const std::vector<PlannedStage>& stages) {
  const std::vector<DeviceId> group = groups_of(stages);
  return static_memory_of(task, stages, [&](std::size_t s) { return group[s]; });
}

std::vector<std::size_t> tight_stages(const Task& task, const std::vector<PlannedStage>& stages,
                                      const Pipeline& pipeline) {
  const auto group = [&](std::size_t s) { return pipeline.stages[s].device; };
  std::vector<Bytes> need = static_memory_of(task, stages, group);
  for (std::size_t s = 0; s < stages.size(); ++s) {
    const auto r = static_cast<Bytes>(replicas(stages[s]));
    const Bytes kept = task.chain.stash[stages[s].last] - task.chain.stash[stages[s].first];
    need[group(s)] += task.micro_batches * ((kept + r - 1) / r);
  }
  std::vector<std::size_t> tight;
  for (std::size_t s = 0; s < stages.size(); ++s) {
    if (need[group(s)] > smallest_memory(task.cluster, stages[s].devices)) tight.push_back(s);
  }
  return tight;
}

GroupCost group_cost(const Cluster& cluster, const std::vector<std::int32_t>& devices) {
  GroupCost cost;
  double slowest = kNever;
  for (const std::int32_t device : devices) slowest = std::min(slowest, cluster.speed[device]);
  const auto r = static_cast<double>(devices.size());
  cost.work = 1 / (r * slowest);
  if (devices.size() < 2) return cost;
  double worst = 0;
  for (const std::int32_t from : devices) {
    for (const std::int32_t to : devices) {
      if (from == to) continue;
      worst = std::max(worst, per_byte(cluster.bandwidth_of(from, to)));
      cost.reduce_latency = std::max(cost.reduce_latency, cluster.latency_of(from, to));
    }
  }
  // A ring can visit all devices of one side before all devices of the other side. Then it crosses
  // a shared link once in each direction, so the whole bandwidth of the link is available.
  for (const SharedLink& link : cluster.shared) {
    if (count(link.one, devices) > 0 && count(link.other, devices) > 0) {
      worst = std::max(worst, per_byte(link.bandwidth));
    }
  }
  cost.reduce = 2 * (r - 1) / r * worst;
  cost.reduce_latency *= 2 * static_cast<Nanos>(devices.size() - 1);
  return cost;
}

ChannelCost channel_cost(const Cluster& cluster, const std::vector<std::int32_t>& from,
                         const std::vector<std::int32_t>& to) {
  ChannelCost cost;
  double worst = 0;
  for (const std::int32_t sender : from) {
    for (const std::int32_t receiver : to) {
      worst = std::max(worst, per_byte(cluster.bandwidth_of(sender, receiver)));
      cost.latency = std::max(cost.latency, cluster.latency_of(sender, receiver));
    }
  }
  const double pairs = static_cast<double>(from.size()) * static_cast<double>(to.size());
  cost.per_byte = worst / pairs;
  for (std::size_t i = 0; i < cluster.shared.size(); ++i) {
    const SharedLink& link = cluster.shared[i];
    for (const bool back : {false, true}) {
      const double senders = count(back ? link.other : link.one, from);
      if (senders == 0) continue;
      const double crossing = senders * count(back ? link.one : link.other, to) / pairs;
      if (crossing == 0) continue;
      cost.per_byte = std::max(cost.per_byte, crossing * per_byte(link.bandwidth));
      cost.shared.push_back(static_cast<std::int32_t>(2 * i + (back ? 1 : 0)));
    }
  }
  return cost;
}

std::vector<LinkId> crossed_inside(const Cluster& cluster,
                                   const std::vector<std::int32_t>& devices) {
  std::vector<LinkId> links;
  for (std::size_t i = 0; i < cluster.shared.size(); ++i) {
    const SharedLink& link = cluster.shared[i];
    if (count(link.one, devices) == 0 || count(link.other, devices) == 0) continue;
    links.push_back(static_cast<LinkId>(2 * i));
    links.push_back(static_cast<LinkId>(2 * i + 1));
  }
  return links;
}

namespace {

/// Fills in one direction of a boundary. The links of a pipeline are numbered as follows: first
/// both directions of each shared link, then one link per ordered pair of groups that exchange
/// messages. `own` is the number of the link of this pair of groups.
void set_transfer(const ChannelCost& cost, Bytes bytes, LinkId own, Transfer& transfer) {
  transfer.time = std::llround(cost.per_byte * static_cast<double>(bytes));
  transfer.latency = cost.latency;
  transfer.links.assign(cost.shared.begin(), cost.shared.end());
  transfer.links.push_back(own);
}

/// Sets the memory changes of all stages, and the memory limits of all groups. The limit of a group
/// is its memory minus its static memory. Returns the first stage that has no memory for even one
/// micro-batch, or the number of stages if there is no such stage.
std::size_t set_memory(const Task& task, const std::vector<PlannedStage>& stages,
                       Pipeline& pipeline) {
  const LayerChain& chain = task.chain;
  const std::vector<Bytes> state =
      static_memory_of(task, stages, [&](std::size_t s) { return pipeline.stages[s].device; });
  pipeline.memory_limits.resize(state.size());
  for (std::size_t s = 0; s < stages.size(); ++s) {
    const PlannedStage& planned = stages[s];
    Stage& stage = pipeline.stages[s];
    const auto r = static_cast<Bytes>(replicas(planned));
    const Bytes all = chain.stash[planned.last] - chain.stash[planned.first];
    const Bytes kept = planned.recompute ? chain.cut[planned.first] : all;
    stage.forward_memory = (kept + r - 1) / r;
    stage.input_memory = 0;
    stage.weight_memory = -stage.forward_memory;  // gradients of weights need what was kept
    const Bytes smallest = smallest_memory(task.cluster, planned.devices);
    Bytes& limit = pipeline.memory_limits[stage.device];
    limit =
        smallest == std::numeric_limits<Bytes>::max() ? smallest : smallest - state[stage.device];
    if (limit < stage.forward_memory) return s;
  }
  return stages.size();
}

tl::unexpected<Error> unfit(const Task& task, const std::vector<PlannedStage>& stages,
                            const Pipeline& pipeline, std::size_t s) {
  const Stage& stage = pipeline.stages[s];
  const Bytes smallest = smallest_memory(task.cluster, stages[s].devices);
  const Bytes always = smallest - pipeline.memory_limits[stage.device];
  return fail(
      ErrorCode::kInfeasible,
      fmt::format("stage {} does not fit: its device has {}, but parameters and their state take "
                  "{} and a micro-batch takes {}",
                  s, exact_bytes(smallest), exact_bytes(always),
                  exact_bytes(stage.forward_memory)));
}

/// Sets the times of one micro-batch.
void set_times(const LayerChain& chain, const PlannedStage& planned, double work, Stage& stage) {
  const auto sum = [&](const std::vector<Nanos>& of) {
    return static_cast<double>(of[planned.last] - of[planned.first]);
  };
  stage.forward = std::llround(sum(chain.forward) * work);
  // A stage that recomputes has no separate weight op: if that op ran later, the recomputed
  // activations would have to be kept until then.
  stage.weight = planned.recompute ? 0 : std::llround(sum(chain.weight) * work);
  const double again = planned.recompute ? sum(chain.forward) : 0;
  stage.input = std::llround((sum(chain.backward) + again) * work) - stage.weight;
}

tl::unexpected<Error> unjoined(std::size_t stage) {
  return fail(ErrorCode::kInfeasible,
              fmt::format("the devices of stage {} lack a link that the plan needs", stage));
}

/// Sets the messages between stages, and the links that all-reduces occupy.
Status set_boundaries(const Task& task, const std::vector<PlannedStage>& stages,
                      const std::vector<ClusterCosts::Id>& ids, ClusterCosts& costs,
                      Pipeline& pipeline) {
  const auto shared = static_cast<LinkId>(2 * task.cluster.shared.size());
  const std::size_t count = stages.size();
  std::vector<std::int32_t> of_group(count, 0);  // number of stages per group
  for (const Stage& stage : pipeline.stages) ++of_group[stage.device];
  // Groups are numbered without gaps, so the last number is unused if and only if some group has
  // two stages.
  const bool shares = count > 0 && of_group[count - 1] == 0;
  std::map<std::pair<DeviceId, DeviceId>, LinkId> own;
  // Without shared groups every boundary has two separate links, so no map is needed.
  const auto link_of = [&](std::size_t from, std::size_t to) {
    if (!shares) return shared + static_cast<LinkId>(from + to - 1 + (from > to ? 1 : 0));
    const auto pair = std::pair(pipeline.stages[from].device, pipeline.stages[to].device);
    return own.try_emplace(pair, shared + static_cast<LinkId>(own.size())).first->second;
  };
  pipeline.boundaries.resize(count - 1);
  for (std::size_t s = 0; s + 1 < count; ++s) {
    Boundary& boundary = pipeline.boundaries[s];
    if (ids[s] == ids[s + 1]) {
      for (Transfer* transfer : {&boundary.forward, &boundary.backward}) {
        transfer->time = transfer->latency = 0;
        transfer->links.clear();
      }
      continue;
    }
    const ChannelCost &forward = costs.channel(ids[s], ids[s + 1]),
                      &backward = costs.channel(ids[s + 1], ids[s]);
    if (forward.per_byte == kNever || backward.per_byte == kNever) return unjoined(s + 1);
    const Bytes bytes = task.chain.cut[stages[s].last];
    set_transfer(forward, bytes, link_of(s, s + 1), boundary.forward);
    set_transfer(backward, bytes, link_of(s + 1, s), boundary.backward);
  }
  for (std::size_t s = 0; s < count; ++s) {
    Stage& stage = pipeline.stages[s];
    // A group with one stage has no messages left to send when its all-reduce starts, except the
    // gradient of its last micro-batch, which may overlap the all-reduce.
    if (stage.all_reduce == 0 || of_group[stage.device] < 2) continue;
    stage.reduce_links = costs.crossed(ids[s]);
    for (const auto& [pair, link] : own) {
      if (pair.first == stage.device || pair.second == stage.device) {
        stage.reduce_links.push_back(link);
      }
    }
  }
  return {};
}

}  // namespace

Status pipeline_without_limits(const Task& task, const std::vector<PlannedStage>& stages,
                               ClusterCosts& costs, Pipeline& pipeline) {
  const LayerChain& chain = task.chain;
  pipeline.micro_batches = task.micro_batches;
  pipeline.split_backward = chain.weight.back() > 0;
  pipeline.reduces_in_turn = true;
  pipeline.memory_limits.clear();
  std::vector<ClusterCosts::Id> ids;
  ids.reserve(stages.size());
  for (const PlannedStage& stage : stages) ids.push_back(costs.id(stage.devices));
  std::vector<DeviceId> group;
  costs.number(ids, group);
  pipeline.stages.resize(stages.size());
  for (std::size_t s = 0; s < stages.size(); ++s) {
    const PlannedStage& planned = stages[s];
    const GroupCost& cost = costs.group(ids[s]);
    Stage& stage = pipeline.stages[s];
    stage = {};
    stage.device = group[s];
    set_times(chain, planned, cost.work, stage);
    const Bytes parameters = chain.parameters[planned.last] - chain.parameters[planned.first];
    if (replicas(planned) > 1 && parameters > 0) {
      if (cost.reduce == kNever) return unjoined(s);
      stage.all_reduce =
          std::llround(cost.reduce * static_cast<double>(parameters)) + cost.reduce_latency;
    }
  }
  return set_boundaries(task, stages, ids, costs, pipeline);
}

Status pipeline_of(const Task& task, const std::vector<PlannedStage>& stages, ClusterCosts& costs,
                   Pipeline& pipeline) {
  WEFT_TRY(pipeline_without_limits(task, stages, costs, pipeline));
  if (!task.limit_memory) return {};
  const std::size_t fit = set_memory(task, stages, pipeline);
  if (fit < stages.size()) return unfit(task, stages, pipeline, fit);
  // A plan without tight stages takes the same time with and without limits. Leave the limits out,
  // so that the cache of simulations treats the two pipelines as equal.
  const bool recomputes = std::any_of(stages.begin(), stages.end(),
                                      [](const PlannedStage& stage) { return stage.recompute; });
  if (!recomputes && tight_stages(task, stages, pipeline).empty()) pipeline.memory_limits.clear();
  return {};
}

bool set_recomputation(const Task& task, const std::vector<PlannedStage>& stages,
                       ClusterCosts& costs, Pipeline& pipeline) {
  for (std::size_t s = 0; s < stages.size(); ++s) {
    set_times(task.chain, stages[s], costs.group(costs.id(stages[s].devices)).work,
              pipeline.stages[s]);
  }
  return set_memory(task, stages, pipeline) == stages.size();
}

Result<Pipeline> pipeline_of(const Task& task, const std::vector<PlannedStage>& stages) {
  ClusterCosts costs(task.cluster);
  Pipeline pipeline;
  WEFT_TRY(pipeline_of(task, stages, costs, pipeline));
  return pipeline;
}

}  // namespace weft::pipeline
