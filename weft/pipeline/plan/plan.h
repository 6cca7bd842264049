// SPDX-License-Identifier: Apache-2.0
// A plan assigns each stage a range of layers and a set of devices. pipeline_of() turns a plan into
// the Pipeline that simulate() can time. The rules are the rules of SPP, a published pipeline
// planner (Luo et al., INFOCOM 2022), extended by latencies, device speeds, shared links and stages
// that share devices:
//
// * Groups. The devices of any two stages are either the same set or disjoint. Such a set is called
//   a group. In the Pipeline each group is one device; groups are numbered by their first stage.
// * Compute. A stage on r devices splits each micro-batch evenly among them. It takes the time of
//   its layers divided by r and by the speed of its slowest device.
// * Messages. Between two stages every sender talks to every receiver. With r senders and r'
//   receivers each pair carries 1 / (r r') of the bytes, and the slowest pair decides. A shared
//   link carries the part of the message that crosses it and is busy for as long as the message
//   takes. Each ordered pair of groups has its own link. This link serves messages in the order in
//   which they become ready. Consecutive stages on one group send nothing.
// * All-reduce. After the last backward of a stage with r replicas, its gradients go around a ring:
//   2 (r-1)/r of its parameter bytes over the slowest pair.
// * All-reduce and messages. If a group has several stages, an all-reduce of one stage occupies all
//   links to and from the group and the shared links that its ring crosses, because other stages of
//   the group may still send messages over the same network cards.
#pragma once

#include <string>
#include <vector>

#include "weft/pipeline/model/cluster.h"
#include "weft/pipeline/model/layer_chain.h"
#include "weft/pipeline/model/pipeline.h"

namespace weft::pipeline {

struct PlannedStage {
  std::int32_t first = 0, last = 0;   ///< layers [first, last) of the chain
  std::vector<std::int32_t> devices;  ///< sorted
  /// Whether the stage keeps only its input per micro-batch and runs the forward again before the
  /// backward. The backward of such a stage is not split into halves.
  bool recompute = false;
  bool operator==(const PlannedStage&) const = default;
};

/// The input of a planner.
struct Task {
  LayerChain chain;
  Cluster cluster;
  Micro micro_batches = 1;
  bool limit_memory = false;  ///< whether plans must fit into Cluster::memory
  /// Bytes that a device holds per byte of parameters. The default counts weights, gradients and
  /// the two moments of Adam.
  std::int64_t state_factor = 4;
};

/// The group number of each stage. Stages on the same devices have the same number; numbers count
/// up in the order of the first stage of each group.
std::vector<DeviceId> groups_of(const std::vector<PlannedStage>& stages);

/// Bytes that each device of a group holds during the whole step: parameters with their state, and,
/// if a stage of the group recomputes, room for one micro-batch that is being recomputed.
std::vector<Bytes> static_memory(const Task& task, const std::vector<PlannedStage>& stages);

/// The stages whose devices cannot keep all micro-batches at once if no stage recomputes. If there
/// are none, memory limits do not affect the plan under any schedule. `pipeline` must be the
/// pipeline of these stages.
std::vector<std::size_t> tight_stages(const Task& task, const std::vector<PlannedStage>& stages,
                                      const Pipeline& pipeline);

/// The compute and all-reduce costs of a stage on a group of devices.
struct GroupCost {
  double work = 0;    ///< factor for the profiled time of layers: 1 / (r * slowest speed)
  double reduce = 0;  ///< all-reduce: nanoseconds per byte of parameters; infinite without links
  Nanos reduce_latency = 0;
};
GroupCost group_cost(const Cluster& cluster, const std::vector<std::int32_t>& devices);

/// The cost of a message from one group of devices to another.
struct ChannelCost {
  double per_byte = 0;  ///< nanoseconds; infinite without a link
  Nanos latency = 0;
  /// The directions of shared links that the message crosses. Shared link i from `one` to `other`
  /// is direction 2 i, the opposite is direction 2 i + 1.
  std::vector<std::int32_t> shared;
};
ChannelCost channel_cost(const Cluster& cluster, const std::vector<std::int32_t>& from,
                         const std::vector<std::int32_t>& to);

/// The directions of shared links that a ring over the devices crosses, numbered as in
/// ChannelCost::shared.
std::vector<LinkId> crossed_inside(const Cluster& cluster,
                                   const std::vector<std::int32_t>& devices);
/// The smallest memory among the devices; the largest number if none of them has a limit.
Bytes smallest_memory(const Cluster& cluster, const std::vector<std::int32_t>& devices);

/// Builds the pipeline of these stages, with one pipeline device per group. Infeasible if groups
/// that exchange messages have no link, or if a stage has no memory for even one micro-batch. The
/// pipeline has no memory limits if no stage is tight.
Result<Pipeline> pipeline_of(const Task& task, const std::vector<PlannedStage>& stages);

/// Variants for planners that ask for thousands of plans: they write into an existing pipeline,
/// whose memory is reused, and look costs up in `costs`. pipeline_without_limits() ignores memory.
class ClusterCosts;
Status pipeline_of(const Task& task, const std::vector<PlannedStage>& stages, ClusterCosts& costs,
                   Pipeline& pipeline);
Status pipeline_without_limits(const Task& task, const std::vector<PlannedStage>& stages,
                               ClusterCosts& costs, Pipeline& pipeline);
/// Changes a pipeline of the same stages so that it reflects which stages recompute now, and sets
/// the memory limits. Only times and memory change, so this is much cheaper than building the
/// pipeline anew. Returns false if a stage has no memory for even one micro-batch.
bool set_recomputation(const Task& task, const std::vector<PlannedStage>& stages,
                       ClusterCosts& costs, Pipeline& pipeline);

}  // namespace weft::pipeline
