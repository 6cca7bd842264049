// SPDX-License-Identifier: Apache-2.0
// A plan: which stretch of layers runs on which devices, in which order micro-batches pass. And
// what it means: a Pipeline that simulate() can time.
//
// Stages may share their devices, but only all of them: the devices of any two stages are the same
// or have none in common. A set of devices that stages have is a group; it is one device of the
// pipeline, in the order of its first stage.
//
// A stage on r devices splits each micro-batch evenly: it takes its time over r times the speed of
// the slowest. Between stages every sender talks to every receiver, so bytes over (r times r') go
// over the slowest pair; a shared link carries what crosses it, and is held meanwhile. Gradients of
// a stage with replicas are all-reduced in a ring when its last backward has ended: 2 (r-1)/r of
// its parameters over the slowest of its pairs. From one group to another there is one link each
// way, which serves in the order of readiness; stages of one group that follow each other have
// nothing to send. All-reduces of a group that has several stages hold all links from and to the
// group, and the shared ones that its ring crosses: other stages have messages then. These are
// SPP's rules, with latency, speeds, shared links and shared devices.
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
  /// Keeps its input only, and runs forward once more before backward, which is not halved then.
  bool recompute = false;
  bool operator==(const PlannedStage&) const = default;
};

/// What is to be planned.
struct Task {
  LayerChain chain;
  Cluster cluster;
  Micro micro_batches = 1;
  bool limit_memory = false;
  /// Bytes a device holds for each byte of parameters: weights, gradients, two moments of Adam.
  std::int64_t state_factor = 4;
};

/// The group of each stage: stages with the same devices have the same number, in the order of the
/// first of them.
std::vector<DeviceId> groups_of(const std::vector<PlannedStage>& stages);

/// What a device of each group holds all the time: parameters and their state, and the micro-batch
/// whose forward runs once more, where one does.
std::vector<Bytes> static_memory(const Task& task, const std::vector<PlannedStage>& stages);

/// Stages whose devices cannot keep all micro-batches at once, none of them recomputing: where
/// there are none, limits of memory change nothing, whatever the schedule. `pipeline` is theirs.
std::vector<std::size_t> tight_stages(const Task& task, const std::vector<PlannedStage>& stages,
                                      const Pipeline& pipeline);

/// Devices of one stage: how much faster they are together than one of speed 1, and what a byte of
/// gradients costs them.
struct GroupCost {
  double work = 0;    ///< time of layers is multiplied by this
  double reduce = 0;  ///< nanoseconds a byte of parameters; infinite without links
  Nanos reduce_latency = 0;
};
GroupCost group_cost(const Cluster& cluster, const std::vector<std::int32_t>& devices);

/// From one group of devices to the next.
struct ChannelCost {
  double per_byte = 0;  ///< nanoseconds; infinite without a link
  Nanos latency = 0;
  std::vector<std::int32_t> shared;  ///< twice the number of a shared link, one more from `other`
};
ChannelCost channel_cost(const Cluster& cluster, const std::vector<std::int32_t>& from,
                         const std::vector<std::int32_t>& to);

/// Directions of shared links that a ring over the devices crosses, numbered as in
/// ChannelCost::shared.
std::vector<LinkId> crossed_inside(const Cluster& cluster,
                                   const std::vector<std::int32_t>& devices);
/// Of devices; the largest number where none has a limit.
Bytes smallest_memory(const Cluster& cluster, const std::vector<std::int32_t>& devices);

/// The pipeline of these stages, each group one device of it. Infeasible where groups that must
/// talk have no link, or memory does not hold one micro-batch. Without limits where no stage is
/// tight.
Result<Pipeline> pipeline_of(const Task& task, const std::vector<PlannedStage>& stages);

/// The same for planners that ask very often: into a pipeline whose memory is used again, with
/// costs that are known from before. The second as if devices had memory for anything.
class ClusterCosts;
Status pipeline_of(const Task& task, const std::vector<PlannedStage>& stages, ClusterCosts& costs,
                   Pipeline& pipeline);
Status pipeline_without_limits(const Task& task, const std::vector<PlannedStage>& stages,
                               ClusterCosts& costs, Pipeline& pipeline);
/// Makes of a pipeline of the same stages, whatever these recompute, that of what they recompute
/// now, within limits. False where memory does not hold one micro-batch.
bool set_recomputation(const Task& task, const std::vector<PlannedStage>& stages,
                       ClusterCosts& costs, Pipeline& pipeline);

}  // namespace weft::pipeline
