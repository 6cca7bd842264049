// SPDX-License-Identifier: Apache-2.0
// libweft-cuda.so: the kernels behind plain functions, for any language that can load a library. It
// brings its own CUDA runtime and shares the primary context of the process with every other one,
// so streams and memory of PyTorch, CuPy or JAX can be handed over as they are.
//
// Functions that can fail return 0 on success, and else write one sentence into `error`, which has
// kErrorBytes. All work on the current device of the calling thread; a plan belongs to the device
// of its first run, and to one stream at a time.
#pragma once

#include <cstdint>

namespace weft::reshard::execute::cuda {
/// Changes with every change that a caller would notice.
inline constexpr std::int32_t kAbi = 1;
inline constexpr std::int32_t kErrorBytes = 256;
}  // namespace weft::reshard::execute::cuda

#pragma GCC visibility push(default)
extern "C" {
struct WeftCudaPlan;

std::int32_t weft_cuda_abi();
/// Numbers for encoded copies, see copies.h; 0 where there is none of that name.
std::int32_t weft_cuda_type(const char* name);
std::int32_t weft_cuda_operation(const char* name);

/// Loads the kernels now. What does so later waits for everything under way on the device, which it
/// must not where that may be waiting for somebody else.
std::int32_t weft_cuda_prepare(char* error);

/// `numbers`: encoded copies, `count` of them in all, between `buffers` buffers.
std::int32_t weft_cuda_plan_make(const std::int64_t* numbers, std::int64_t count,
                                 std::int32_t buffers, WeftCudaPlan** plan, char* error);
/// Queues it on `stream` (a cudaStream_t), without waiting for what is queued there. Buffers that
/// no copy names may be null.
std::int32_t weft_cuda_plan_run(WeftCudaPlan* plan, void* const* buffers, void* stream,
                                char* error);
/// How many kernels a run launches.
std::int32_t weft_cuda_plan_launches(const WeftCudaPlan* plan);
/// Waits for the device first.
void weft_cuda_plan_free(WeftCudaPlan* plan);

/// What a transport needs besides: memory, and how far a stream has come.
std::int32_t weft_cuda_allocate(std::int64_t bytes, void** memory, char* error);
void weft_cuda_release(void* memory);
/// Of the host, for what is fetched and put: copies from and to it wait for nothing.
std::int32_t weft_cuda_allocate_host(std::int64_t bytes, void** memory, char* error);
void weft_cuda_release_host(void* memory);
std::int32_t weft_cuda_fetch(void* host, const void* device, std::int64_t bytes, void* stream,
                             char* error);
std::int32_t weft_cuda_put(void* device, const void* host, std::int64_t bytes, void* stream,
                           char* error);
std::int32_t weft_cuda_event_make(void** event, char* error);
std::int32_t weft_cuda_event_record(void* event, void* stream, char* error);
/// `done`: whether everything queued before it was recorded is.
std::int32_t weft_cuda_event_done(void* event, std::int32_t* done, char* error);
void weft_cuda_event_free(void* event);
std::int32_t weft_cuda_stream_make(void** stream, char* error);
void weft_cuda_stream_free(void* stream);
}
#pragma GCC visibility pop
