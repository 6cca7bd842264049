// SPDX-License-Identifier: Apache-2.0
// Writes the stages of a plan in the form that Megatron-LM takes: --pipeline-model-parallel-layout
// "Et*3|t*4|tL". E is the embedding, t a transformer layer, L the head and loss, and `|` separates
// stages. The format has no order of micro-batches; Megatron uses its own.
#pragma once

#include "weft/pipeline/exports/scheduled.h"

namespace weft::pipeline::exports {

/// Fails with kInfeasible if stages have unequal numbers of replicas, if stage s is not on rank s
/// modulo the number of ranks, if the layers between embedding and head are not equal, or if a
/// stage boundary is inside the embedding or the head. Fails with kUsage if the schedule has no
/// layers.
Result<Exported> megatron_layout(const Scheduled& scheduled);

}  // namespace weft::pipeline::exports
