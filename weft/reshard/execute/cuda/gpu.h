// SPDX-License-Identifier: Apache-2.0
// The functions of libweft-cuda.so for C++. They are looked up at run time, so no part of Weft
// needs CUDA to be built or started.
#pragma once

#include <string>

#include "weft/base/result.h"
#include "weft/reshard/execute/cuda/library.h"

namespace weft::reshard::execute::cuda {

struct Gpu {
  decltype(&weft_cuda_prepare) prepare = nullptr;
  decltype(&weft_cuda_plan_make) plan_make = nullptr;
  decltype(&weft_cuda_plan_run) plan_run = nullptr;
  decltype(&weft_cuda_plan_free) plan_free = nullptr;
  decltype(&weft_cuda_allocate) allocate = nullptr;
  decltype(&weft_cuda_release) release = nullptr;
  decltype(&weft_cuda_allocate_host) allocate_host = nullptr;
  decltype(&weft_cuda_release_host) release_host = nullptr;
  decltype(&weft_cuda_fetch) fetch = nullptr;
  decltype(&weft_cuda_put) put = nullptr;
  decltype(&weft_cuda_event_make) event_make = nullptr;
  decltype(&weft_cuda_event_record) event_record = nullptr;
  decltype(&weft_cuda_event_done) event_done = nullptr;
  decltype(&weft_cuda_event_free) event_free = nullptr;
  decltype(&weft_cuda_stream_make) stream_make = nullptr;
  decltype(&weft_cuda_stream_free) stream_free = nullptr;
};

/// `path` is the path of the library, or a name that the loader finds. The library stays loaded.
/// Returns an Error (kUnavailable) if there is no such library, or if it belongs to another version
/// of Weft.
Result<Gpu> load_gpu(const std::string& path);

}  // namespace weft::reshard::execute::cuda
