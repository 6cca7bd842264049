// SPDX-License-Identifier: Apache-2.0
// Schedules for torch.distributed.pipelining: the CSV files that _PipelineScheduleRuntime loads. A
// row a rank, a cell an action. "compute_only" has the ops, and torch adds messages;
// "compute_comms" has everything, in the order in which our simulator says it happens.
//
// What differs between versions of torch, or would go wrong without a word:
// - Before 2.6 B was the gradient of the input in some schedules and the whole backward in others.
// - From 2.10 on gradients are scaled and reduced by actions, REDUCE_GRAD, without which they are
//   not; before, that action is refused.
// - Until 2.12 ranks greet the neighbours of their stages, and gloo refuses a greeting to oneself,
//   so two stages next to each other on one rank do not start.
// - Losses are kept in the order of the last stage's forwards and found by micro-batch: these must
//   ascend.
#pragma once

#include <string_view>

#include "weft/pipeline/exports/scheduled.h"

namespace weft::pipeline::exports {

struct TorchVersion {
  std::int32_t major = 2, minor = 13;
  auto operator<=>(const TorchVersion&) const = default;
};
/// "2.11", "2.13.0+cpu". kUsage where it is no version, or one whose files mean something else.
Result<TorchVersion> parse_torch_version(std::string_view text);

enum class TorchFormat { kComputeOnly, kComputeComms };

/// Infeasible where replicas are unequal, which torch cannot express.
Result<Exported> torch_csv(const Scheduled& scheduled, TorchFormat format, TorchVersion version);

}  // namespace weft::pipeline::exports
