// SPDX-License-Identifier: Apache-2.0
// For tests on machines without GPU and NCCL: both, emulated in the host's memory. Ranks are
// threads. Streams are queues: they advance when their state is queried, and stop, as on a GPU, at
// a receive whose data has not arrived.
#pragma once

#include "weft/reshard/execute/cuda/gpu.h"
#include "weft/reshard/execute/nccl/nccl.h"

namespace weft::reshard::execute::nccl::fake {

cuda::Gpu gpu();
Nccl nccl();

/// Discards messages and resets all counters. `notices`: whether NCCL itself finds out that a rank
/// is gone; if not, only a timeout tells.
void reset(bool notices);

std::int64_t allocated();  ///< bytes of GPU memory in use
int groups();              ///< groups of sends and receives, by all ranks
int launches();            ///< plans run
int collectives();         ///< without those that compare programs

}  // namespace weft::reshard::execute::nccl::fake
