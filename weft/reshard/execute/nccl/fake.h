// SPDX-License-Identifier: Apache-2.0
// For tests on machines without a GPU and NCCL: emulates both in the host's memory. Ranks are
// threads. A stream is a queue, which advances when its state is queried. As on a GPU, it stops at
// a receive whose data has not arrived.
#pragma once

#include "weft/reshard/execute/cuda/gpu.h"
#include "weft/reshard/execute/nccl/nccl.h"

namespace weft::reshard::execute::nccl::fake {

cuda::Gpu gpu();
Nccl nccl();

/// Discards messages and resets all counters. `notices` says whether NCCL itself finds out that a
/// rank is gone. If not, only a timeout reveals it.
void reset(bool notices);

std::int64_t allocated();  ///< bytes of GPU memory in use
int groups();              ///< how many groups of sends and receives all ranks have run
int launches();            ///< how many plans were run
int collectives();         ///< how many collectives were run, except for comparing programs

}  // namespace weft::reshard::execute::nccl::fake
