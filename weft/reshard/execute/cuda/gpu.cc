// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/execute/cuda/gpu.h"

#include "weft/reshard/execute/cuda/loader.h"

namespace weft::reshard::execute::cuda {

Result<Gpu> load_gpu(const std::string& path) {
  WEFT_ASSIGN(const Loader loader, Loader::open(path));
  decltype(&weft_cuda_abi) abi = nullptr;
  WEFT_TRY(loader.find("weft_cuda_abi", abi));
  // Check this first, because in another version the functions may take other arguments.
  if (abi() != kAbi) {
    return fail(ErrorCode::kUnavailable,
                "belongs to another version of Weft: build both from the same sources", path);
  }
  Gpu gpu;
  WEFT_TRY(loader.find("weft_cuda_prepare", gpu.prepare));
  WEFT_TRY(loader.find("weft_cuda_plan_make", gpu.plan_make));
  WEFT_TRY(loader.find("weft_cuda_plan_run", gpu.plan_run));
  WEFT_TRY(loader.find("weft_cuda_plan_free", gpu.plan_free));
  WEFT_TRY(loader.find("weft_cuda_allocate", gpu.allocate));
  WEFT_TRY(loader.find("weft_cuda_release", gpu.release));
  WEFT_TRY(loader.find("weft_cuda_allocate_host", gpu.allocate_host));
  WEFT_TRY(loader.find("weft_cuda_release_host", gpu.release_host));
  WEFT_TRY(loader.find("weft_cuda_fetch", gpu.fetch));
  WEFT_TRY(loader.find("weft_cuda_put", gpu.put));
  WEFT_TRY(loader.find("weft_cuda_event_make", gpu.event_make));
  WEFT_TRY(loader.find("weft_cuda_event_record", gpu.event_record));
  WEFT_TRY(loader.find("weft_cuda_event_done", gpu.event_done));
  WEFT_TRY(loader.find("weft_cuda_event_free", gpu.event_free));
  WEFT_TRY(loader.find("weft_cuda_stream_make", gpu.stream_make));
  WEFT_TRY(loader.find("weft_cuda_stream_free", gpu.stream_free));
  return gpu;
}

}  // namespace weft::reshard::execute::cuda
