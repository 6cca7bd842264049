// SPDX-License-Identifier: Apache-2.0
// Computes the times of a plan by the rules in docs/design/pipeline.md: how long every stage,
// message and all-reduce takes, and when it happens. The replay is deliberately simple: it handles
// messages one by one in the order of time.
#pragma once

#include "weft/pipeline/verify/plan_data.h"

namespace weft::pipeline::verify {

/// Nanoseconds per byte between two groups of devices, limited by the slowest pair and by shared
/// links; infinite if a pair has no link.
double channel_rate(const PlanData& plan, const std::vector<std::int32_t>& from,
                    const std::vector<std::int32_t>& to);
Nanos channel_latency(const PlanData& plan, const std::vector<std::int32_t>& from,
                      const std::vector<std::int32_t>& to);
/// The shared links that messages from `from` to `to` use: 2 i for link i in one direction, 2 i + 1
/// in the other.
std::vector<std::size_t> links_held(const PlanData& plan, const std::vector<std::int32_t>& from,
                                    const std::vector<std::int32_t>& to);
/// The time of a layer on the group, divided by its time in the profile.
double group_work(const PlanData& plan, const std::vector<std::int32_t>& group);
/// Nanoseconds per byte of gradients of a ring all-reduce within the group.
double reduce_rate(const PlanData& plan, const std::vector<std::int32_t>& group);
Nanos reduce_latency(const PlanData& plan, const std::vector<std::int32_t>& group);

/// Per micro-batch: the times of the ops of a stage and the bytes that it keeps on each device. Per
/// step: the all-reduce of the gradients.
struct StageTimes {
  Nanos forward = 0, input = 0, weight = 0, reduce = 0;
  Bytes kept = 0;
};
std::vector<StageTimes> stage_times(const PlanData& plan);

struct Replayed {
  Nanos step = 0;
  std::vector<Bytes>
      most;  ///< per group: the most bytes that micro-batches keep on a device at once
};
/// Fails with kInfeasible if an order lacks an op or repeats one, or if the orders deadlock.
Result<Replayed> replay(const PlanData& plan);

}  // namespace weft::pipeline::verify
