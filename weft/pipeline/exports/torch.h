// SPDX-License-Identifier: Apache-2.0
// Writes schedules for torch.distributed.pipelining: the CSV files that _PipelineScheduleRuntime
// loads. They have one row per rank and one cell per action. "compute_only" has the ops, and torch
// adds the messages. "compute_comms" has all actions, in the order in which simulate() says that
// they happen.
//
// Differences between versions of torch, and cases in which torch would fail silently:
// - Before 2.6, B means the gradient of the input in some schedules and the whole backward in
//   others.
// - From 2.10 on, only REDUCE_GRAD actions scale and reduce gradients. Without these actions,
//   gradients are neither scaled nor reduced. Earlier versions refuse the action.
// - Until 2.12, every rank exchanges a first message with the ranks of neighbouring stages. gloo
//   refuses messages from a rank to itself, so a job with two neighbouring stages on one rank does
//   not start.
// - torch stores losses in the order of the last stage's forwards but looks them up by micro-batch.
//   So the last stage must run micro-batches in ascending order.
#pragma once

#include <string_view>

#include "weft/pipeline/exports/scheduled.h"

namespace weft::pipeline::exports {

struct TorchVersion {
  std::int32_t major = 2, minor = 13;
  auto operator<=>(const TorchVersion&) const = default;
};
/// Reads "2.11" or "2.13.0+cpu". Fails with kUsage if the text is not a version, or if the version
/// is before 2.6, whose files mean something else.
Result<TorchVersion> parse_torch_version(std::string_view text);

enum class TorchFormat { kComputeOnly, kComputeComms };

/// Fails with kInfeasible if stages have unequal numbers of replicas, which torch cannot express.
Result<Exported> torch_csv(const Scheduled& scheduled, TorchFormat format, TorchVersion version);

}  // namespace weft::pipeline::exports
