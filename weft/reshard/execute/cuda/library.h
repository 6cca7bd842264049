// SPDX-License-Identifier: Apache-2.0
// libweft-cuda.so offers the kernels as plain C functions, for any language that can load a
// library. It contains its own CUDA runtime and uses the primary context of the process. So streams
// and memory of PyTorch, CuPy or JAX can be passed without conversion.
//
// Functions that can fail return 0 on success. Otherwise they write one sentence into `error`,
// which has kErrorBytes bytes. All functions work on the current device of the calling thread. A
// plan belongs to the device of its first run. It must be used on only one stream at a time.
#pragma once

#include <cstdint>

namespace weft::reshard::execute::cuda {
/// Incremented with every change that a caller would notice.
inline constexpr std::int32_t kAbi = 1;
inline constexpr std::int32_t kErrorBytes = 256;
}  // namespace weft::reshard::execute::cuda

#pragma GCC visibility push(default)
extern "C" {
struct WeftCudaPlan;

std::int32_t weft_cuda_abi();
/// The numbers of types and operations in encoded copies, see copies.h. 0: there is no type or
/// operation of that name.
std::int32_t weft_cuda_type(const char* name);
std::int32_t weft_cuda_operation(const char* name);

/// Loads the kernels now. Loading them later would wait for everything that is queued on the
/// device. This must not happen if the queued work waits for another process.
std::int32_t weft_cuda_prepare(char* error);

/// `numbers` are encoded copies, `count` numbers in total. `buffers` is the number of buffers that
/// they use.
std::int32_t weft_cuda_plan_make(const std::int64_t* numbers, std::int64_t count,
                                 std::int32_t buffers, WeftCudaPlan** plan, char* error);
/// Queues the plan on `stream` (a cudaStream_t) without waiting for the work that is queued on it.
/// Buffers that no copy uses may be null.
std::int32_t weft_cuda_plan_run(WeftCudaPlan* plan, void* const* buffers, void* stream,
                                char* error);
/// How many kernels a run launches.
std::int32_t weft_cuda_plan_launches(const WeftCudaPlan* plan);
/// Waits for the device before it frees the plan.
void weft_cuda_plan_free(WeftCudaPlan* plan);

/// Transports need these functions in addition to plans: they allocate memory, and ask how far a
/// stream has come.
std::int32_t weft_cuda_allocate(std::int64_t bytes, void** memory, char* error);
void weft_cuda_release(void* memory);
/// Pinned memory of the host. Copies from and to it by weft_cuda_fetch() and weft_cuda_put() do not
/// wait.
std::int32_t weft_cuda_allocate_host(std::int64_t bytes, void** memory, char* error);
void weft_cuda_release_host(void* memory);
std::int32_t weft_cuda_fetch(void* host, const void* device, std::int64_t bytes, void* stream,
                             char* error);
std::int32_t weft_cuda_put(void* device, const void* host, std::int64_t bytes, void* stream,
                           char* error);
std::int32_t weft_cuda_event_make(void** event, char* error);
std::int32_t weft_cuda_event_record(void* event, void* stream, char* error);
/// Sets `done`: whether everything that was queued before the event was recorded has completed.
std::int32_t weft_cuda_event_done(void* event, std::int32_t* done, char* error);
void weft_cuda_event_free(void* event);
std::int32_t weft_cuda_stream_make(void** stream, char* error);
void weft_cuda_stream_free(void* stream);
}
#pragma GCC visibility pop
