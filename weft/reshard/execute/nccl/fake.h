// SPDX-License-Identifier: Apache-2.0
// A GPU and an NCCL of the host's memory, for tests of the transport where there is neither. Ranks
// are threads; streams are queues, which go on when somebody asks how far they are, and stop where
// something has not come yet, as on a GPU.
#pragma once

#include "weft/reshard/execute/cuda/gpu.h"
#include "weft/reshard/execute/nccl/nccl.h"

namespace weft::reshard::execute::nccl::fake {

cuda::Gpu gpu();
Nccl nccl();

/// Forgets what was sent and counted before. `notices`: whether NCCL itself finds out that a rank
/// has gone; else only the time tells.
void reset(bool notices);

std::int64_t allocated();  ///< bytes of GPU memory in use
int groups();              ///< of sends and receives, by all ranks
int launches();            ///< plans run
int collectives();         ///< but for those that compare programs

}  // namespace weft::reshard::execute::nccl::fake
