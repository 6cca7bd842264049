// SPDX-License-Identifier: Apache-2.0
// One launch copies, or combines, all boxes of a work list. See work.h.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "weft/reshard/execute/cuda/job.h"

namespace weft::reshard::execute::cuda {

/// Where buffers begin: a few are handed over with the launch, more lie in the memory of the GPU.
struct Addresses {
  static constexpr std::size_t kFew = 64;
  char* few[kFew] = {};
  char* const* all = nullptr;
};

/// A work list in the memory of the GPU.
struct DeviceWork {
  const Job* jobs = nullptr;
  const Source* sources = nullptr;
  const Share* shares = nullptr;
  const Weave* weaves = nullptr;
  const Tile* tiles = nullptr;
  std::uint32_t share_count = 0;  ///< or that of tiles
};

__device__ inline char* address_of(const Addresses& addresses, std::int32_t buffer) {
  return addresses.all == nullptr ? addresses.few[buffer] : addresses.all[buffer];
}

cudaError_t launch_copy(const DeviceWork& work, const Addresses& addresses, cudaStream_t stream);
cudaError_t launch_weave(const DeviceWork& work, const Addresses& addresses, cudaStream_t stream);
cudaError_t launch_combine(const DeviceWork& work, const Addresses& addresses, cudaStream_t stream);
/// Loads all kernels.
cudaError_t prepare_kernels();

}  // namespace weft::reshard::execute::cuda
