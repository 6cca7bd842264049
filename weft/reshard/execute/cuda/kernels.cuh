// SPDX-License-Identifier: Apache-2.0
// One launch copies, or combines, all boxes of a work list. See work.h.
#pragma once

#include <cuda_runtime.h>

#include "weft/reshard/execute/cuda/job.h"

namespace weft::reshard::execute::cuda {

/// A work list in the memory of the GPU.
struct DeviceWork {
  const Job* jobs = nullptr;
  const Source* sources = nullptr;
  const Share* shares = nullptr;
  std::uint32_t share_count = 0;
  char* const* buffers = nullptr;
};

cudaError_t launch_copy(const DeviceWork& work, cudaStream_t stream);
cudaError_t launch_combine(const DeviceWork& work, cudaStream_t stream);

}  // namespace weft::reshard::execute::cuda
