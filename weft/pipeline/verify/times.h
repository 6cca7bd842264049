// SPDX-License-Identifier: Apache-2.0
// What the rules of plans (docs/design/pipeline.md) make of a plan: how long everything takes, and
// when it happens. Messages in the order of time, nothing clever.
#pragma once

#include "weft/pipeline/verify/plan_data.h"

namespace weft::pipeline::verify {

/// Nanoseconds a byte between groups, over the slowest pair and over shared links; infinite
/// without a link.
double channel_rate(const PlanData& plan, const std::vector<std::int32_t>& from,
                    const std::vector<std::int32_t>& to);
Nanos channel_latency(const PlanData& plan, const std::vector<std::int32_t>& from,
                      const std::vector<std::int32_t>& to);
/// Shared links that carry something between them: twice the number, one more from the other side.
std::vector<std::size_t> links_held(const PlanData& plan, const std::vector<std::int32_t>& from,
                                    const std::vector<std::int32_t>& to);
/// Layers take their time multiplied by this.
double group_work(const PlanData& plan, const std::vector<std::int32_t>& group);
/// Of the gradients of so many bytes.
double reduce_rate(const PlanData& plan, const std::vector<std::int32_t>& group);
Nanos reduce_latency(const PlanData& plan, const std::vector<std::int32_t>& group);

/// What a micro-batch takes on a stage and keeps there, and the gradients of a step.
struct StageTimes {
  Nanos forward = 0, input = 0, weight = 0, reduce = 0;
  Bytes kept = 0;
};
std::vector<StageTimes> stage_times(const PlanData& plan);

struct Replayed {
  Nanos step = 0;
  std::vector<Bytes> most;  ///< bytes that micro-batches keep on a device of each group at once
};
/// Fails (kInfeasible) where an order lacks an op, repeats one, or waits for ever.
Result<Replayed> replay(const PlanData& plan);

}  // namespace weft::pipeline::verify
