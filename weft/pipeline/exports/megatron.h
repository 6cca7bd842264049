// SPDX-License-Identifier: Apache-2.0
// The cuts of a plan as Megatron-LM takes them: --pipeline-model-parallel-layout "Et*3|t*4|tL", E
// for the embedding, t for a transformer layer, L for the head and loss, a bar between stages. The
// order of micro-batches is Megatron's own.
#pragma once

#include "weft/pipeline/exports/scheduled.h"

namespace weft::pipeline::exports {

/// Infeasible where stages have unequal replicas, several stages of a device are not dealt out in
/// turn, layers between embedding and head are not alike, or embedding or head are cut.
Result<Exported> megatron_layout(const Scheduled& scheduled);

}  // namespace weft::pipeline::exports
