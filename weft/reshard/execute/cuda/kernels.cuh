// SPDX-License-Identifier: Apache-2.0
// The kernels: one launch copies or combines all boxes of a work list. See work.h.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "weft/reshard/execute/cuda/work_list.h"

namespace weft::reshard::execute::cuda {

/// The addresses of the buffers. Up to kFew addresses are passed with the launch. More addresses
/// lie in the memory of the GPU.
struct Addresses {
  static constexpr std::size_t kFew = 64;
  char* few[kFew] = {};
  char* const* all = nullptr;
};

/// A work list in the memory of the GPU.
struct DeviceWork {
  const BoxWork* boxes = nullptr;
  const Source* sources = nullptr;
  const WarpWork* warps = nullptr;
  const TiledCopy* tiled = nullptr;
  const Tile* tiles = nullptr;
  std::uint32_t count = 0;  ///< warps, or tiles
};

__device__ inline char* address_of(const Addresses& addresses, std::int32_t buffer) {
  return addresses.all == nullptr ? addresses.few[buffer] : addresses.all[buffer];
}

cudaError_t launch_copy(const DeviceWork& work, const Addresses& addresses, cudaStream_t stream);
cudaError_t launch_tiled(const DeviceWork& work, const Addresses& addresses, cudaStream_t stream);
cudaError_t launch_combine(const DeviceWork& work, const Addresses& addresses, cudaStream_t stream);
/// Loads all kernels, so that the first launch does not have to load them.
cudaError_t prepare_kernels();

}  // namespace weft::reshard::execute::cuda
