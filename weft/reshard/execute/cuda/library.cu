// SPDX-License-Identifier: Apache-2.0
// The functions of library.h. A plan keeps its copies. How the copies are divided into work depends
// on the alignment of the buffers. So one work list is made and uploaded for each combination of
// alignments that occurs. Addresses are passed with each launch. If there are many addresses, they
// are passed as a table.
#include "weft/reshard/execute/cuda/library.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "weft/reshard/execute/cuda/kernels.cuh"
#include "weft/reshard/execute/cuda/work.h"

using namespace weft::reshard::execute::cuda;

namespace {

std::int32_t fail(char* error, const std::string& sentence) {
  std::snprintf(error, kErrorBytes, "%s", sentence.c_str());
  return 1;
}

std::int32_t check(cudaError_t status, const char* what, char* error) {
  if (status == cudaSuccess) return 0;
  return fail(error, std::string(what) + ": " + cudaGetErrorString(status));
}

struct DeviceFree {
  void operator()(char* memory) const { cudaFree(memory); }
};
using DeviceMemory = std::unique_ptr<char, DeviceFree>;

/// The work lists of all launches, in the memory of the device, for one combination of alignments
/// of the buffers.
struct Uploaded {
  std::vector<DeviceWork> works;
  std::vector<Launch::Kind> kinds;
  DeviceMemory memory;
};

/// Stores tables one after the other, each at a multiple of 16 bytes, so that one copy uploads all
/// of them.
class Image {
 public:
  template <class T>
  std::size_t add(const std::vector<T>& table) {
    const std::size_t at = bytes_.size();
    bytes_.resize((at + table.size() * sizeof(T) + 15) / 16 * 16);
    if (!table.empty()) std::memcpy(bytes_.data() + at, table.data(), table.size() * sizeof(T));
    return at;
  }
  const std::vector<char>& bytes() const { return bytes_; }

 private:
  std::vector<char> bytes_;
};

std::int32_t allocate(std::size_t bytes, DeviceMemory& memory, char* error) {
  void* raw = nullptr;
  const std::int32_t failed = check(cudaMalloc(&raw, bytes), "no memory on the GPU", error);
  memory.reset(static_cast<char*>(raw));
  return failed;
}

/// Copies on a new stream, so that the copy does not wait for work that is queued on other streams.
std::int32_t put_now(void* device, const void* host, std::size_t bytes, char* error) {
  cudaStream_t stream = nullptr;
  cudaError_t status = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  if (status == cudaSuccess) {
    status = cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, stream);
    const cudaError_t waited = cudaStreamSynchronize(stream);
    if (status == cudaSuccess) status = waited;
    cudaStreamDestroy(stream);
  }
  return check(status, "cannot copy tables to the GPU", error);
}

std::int32_t upload(const std::vector<Launch>& launches, Uploaded& uploaded, char* error) {
  // One allocation and one copy for the tables of all launches.
  Image image;
  struct At {
    std::size_t boxes, sources, warps, tiled, tiles;
  };
  std::vector<At> at;
  for (const Launch& launch : launches) {
    at.push_back({image.add(launch.boxes), image.add(launch.sources), image.add(launch.warps),
                  image.add(launch.tiled), image.add(launch.tiles)});
  }
  if (image.bytes().empty()) return 0;
  if (allocate(image.bytes().size(), uploaded.memory, error) != 0) return 1;
  char* base = uploaded.memory.get();
  for (std::size_t i = 0; i < launches.size(); ++i) {
    const Launch& launch = launches[i];
    uploaded.works.push_back(
        {reinterpret_cast<const BoxWork*>(base + at[i].boxes),
         reinterpret_cast<const Source*>(base + at[i].sources),
         reinterpret_cast<const WarpWork*>(base + at[i].warps),
         reinterpret_cast<const TiledCopy*>(base + at[i].tiled),
         reinterpret_cast<const Tile*>(base + at[i].tiles),
         static_cast<std::uint32_t>(launch.warps.size() + launch.tiles.size())});
    uploaded.kinds.push_back(launch.kind);
  }
  return put_now(base, image.bytes().data(), image.bytes().size(), error);
}

}  // namespace

struct WeftCudaPlan {
  std::vector<Copy> copies;
  std::int32_t buffers = 0;
  int device = -1;  ///< the device of the first run; -1: the plan has not run yet
  std::map<std::vector<int>, Uploaded> uploaded;
  /// Tables of addresses for plans with many buffers, by their contents. Older tables are kept,
  /// because queued work may still read them.
  std::map<std::vector<char*>, DeviceMemory> tables;
};

namespace {

/// The most tables that are kept. A caller that alternates between several sets of buffers finds
/// the tables of these sets again.
constexpr std::size_t kMostTables = 64;

std::int32_t find_addresses(WeftCudaPlan& plan, const std::vector<char*>& now, Addresses& addresses,
                            char* error) {
  if (now.size() <= Addresses::kFew) {
    std::copy(now.begin(), now.end(), addresses.few);
    return 0;
  }
  auto found = plan.tables.find(now);
  if (found == plan.tables.end()) {
    // cudaFree waits for queued work, so tables that are still read stay valid until then.
    if (plan.tables.size() == kMostTables) plan.tables.clear();
    DeviceMemory table;
    const std::size_t bytes = now.size() * sizeof(char*);
    if (allocate(bytes, table, error) != 0) return 1;
    if (put_now(table.get(), now.data(), bytes, error) != 0) return 1;
    found = plan.tables.emplace(now, std::move(table)).first;
  }
  addresses.all = reinterpret_cast<char* const*>(found->second.get());
  return 0;
}

cudaError_t launch_work(Launch::Kind kind, const DeviceWork& work, const Addresses& addresses,
                        cudaStream_t stream) {
  switch (kind) {
    case Launch::Kind::kTiled:
      return launch_tiled(work, addresses, stream);
    case Launch::Kind::kCombine:
      return launch_combine(work, addresses, stream);
    case Launch::Kind::kCopy:
      break;
  }
  return launch_copy(work, addresses, stream);
}

}  // namespace

extern "C" {

std::int32_t weft_cuda_abi() { return kAbi; }
std::int32_t weft_cuda_type(const char* name) { return static_cast<std::int32_t>(type_of(name)); }
std::int32_t weft_cuda_operation(const char* name) {
  return static_cast<std::int32_t>(operation_of(name));
}

std::int32_t weft_cuda_prepare(char* error) {
  return check(prepare_kernels(), "cannot load the kernels", error);
}

std::int32_t weft_cuda_plan_make(const std::int64_t* numbers, std::int64_t count,
                                 std::int32_t buffers, WeftCudaPlan** plan, char* error) {
  auto made = std::make_unique<WeftCudaPlan>();
  made->buffers = buffers;
  const std::string wrong =
      decode({numbers, static_cast<std::size_t>(count)}, buffers, made->copies);
  if (!wrong.empty()) return fail(error, wrong);
  *plan = made.release();
  return 0;
}

std::int32_t weft_cuda_plan_run(WeftCudaPlan* plan, void* const* buffers, void* stream,
                                char* error) {
  auto* queue = static_cast<cudaStream_t>(stream);
  int device = 0;
  if (check(cudaGetDevice(&device), "there is no GPU", error) != 0) return 1;
  if (plan->device >= 0 && plan->device != device) {
    return fail(error, "the plan belongs to another GPU: make one plan per GPU");
  }
  plan->device = device;

  std::vector<char*> now;
  std::vector<int> alignment;
  for (std::int32_t i = 0; i < plan->buffers; ++i) {
    now.push_back(static_cast<char*>(buffers[i]));
    // The lowest set bit, at most 16.
    const auto address = reinterpret_cast<std::uintptr_t>(buffers[i]) | 16;
    alignment.push_back(static_cast<int>(address & -address));
  }
  auto found = plan->uploaded.find(alignment);
  if (found == plan->uploaded.end()) {
    Uploaded uploaded;
    if (upload(make_work(plan->copies, alignment), uploaded, error) != 0) return 1;
    found = plan->uploaded.emplace(std::move(alignment), std::move(uploaded)).first;
  }
  if (found->second.works.empty()) return 0;
  Addresses addresses;
  if (find_addresses(*plan, now, addresses, error) != 0) return 1;
  for (std::size_t i = 0; i < found->second.works.size(); ++i) {
    const cudaError_t status =
        launch_work(found->second.kinds[i], found->second.works[i], addresses, queue);
    if (check(status, "cannot start the kernel", error) != 0) return 1;
  }
  return 0;
}

std::int32_t weft_cuda_plan_launches(const WeftCudaPlan* plan) {
  const std::vector<int> aligned(static_cast<std::size_t>(plan->buffers), 16);
  return static_cast<std::int32_t>(make_work(plan->copies, aligned).size());
}

void weft_cuda_plan_free(WeftCudaPlan* plan) { delete plan; }

std::int32_t weft_cuda_allocate(std::int64_t bytes, void** memory, char* error) {
  return check(cudaMalloc(memory, static_cast<std::size_t>(bytes)), "no memory on the GPU", error);
}

void weft_cuda_release(void* memory) { cudaFree(memory); }

std::int32_t weft_cuda_allocate_host(std::int64_t bytes, void** memory, char* error) {
  return check(cudaMallocHost(memory, static_cast<std::size_t>(bytes)),
               "no pinned memory on the host", error);
}

void weft_cuda_release_host(void* memory) { cudaFreeHost(memory); }

std::int32_t weft_cuda_fetch(void* host, const void* device, std::int64_t bytes, void* stream,
                             char* error) {
  return check(cudaMemcpyAsync(host, device, static_cast<std::size_t>(bytes),
                               cudaMemcpyDeviceToHost, static_cast<cudaStream_t>(stream)),
               "cannot copy from the GPU", error);
}

std::int32_t weft_cuda_put(void* device, const void* host, std::int64_t bytes, void* stream,
                           char* error) {
  return check(cudaMemcpyAsync(device, host, static_cast<std::size_t>(bytes),
                               cudaMemcpyHostToDevice, static_cast<cudaStream_t>(stream)),
               "cannot copy to the GPU", error);
}

std::int32_t weft_cuda_event_make(void** event, char* error) {
  return check(
      cudaEventCreateWithFlags(reinterpret_cast<cudaEvent_t*>(event), cudaEventDisableTiming),
      "cannot make an event", error);
}

std::int32_t weft_cuda_event_record(void* event, void* stream, char* error) {
  return check(cudaEventRecord(static_cast<cudaEvent_t>(event), static_cast<cudaStream_t>(stream)),
               "the stream has failed", error);
}

std::int32_t weft_cuda_event_done(void* event, std::int32_t* done, char* error) {
  const cudaError_t status = cudaEventQuery(static_cast<cudaEvent_t>(event));
  *done = status == cudaSuccess;
  // An event that has not completed is not an error.
  return status == cudaErrorNotReady ? 0 : check(status, "the GPU has failed", error);
}

void weft_cuda_event_free(void* event) { cudaEventDestroy(static_cast<cudaEvent_t>(event)); }

std::int32_t weft_cuda_stream_make(void** stream, char* error) {
  return check(
      cudaStreamCreateWithFlags(reinterpret_cast<cudaStream_t*>(stream), cudaStreamNonBlocking),
      "cannot make a stream", error);
}

void weft_cuda_stream_free(void* stream) { cudaStreamDestroy(static_cast<cudaStream_t>(stream)); }

}  // extern "C"
