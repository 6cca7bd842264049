// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/execute/cuda/combine.cuh"
#include "weft/reshard/execute/cuda/kernels.cuh"
#include "weft/reshard/execute/cuda/tile.h"

namespace weft::reshard::execute::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kWarp = 32;
/// Slots that a thread has under way at a time: enough loads to hide the way to memory, few enough
/// registers that three or four blocks fit on a multiprocessor. Found by measuring, see
/// bench/gpu/reshard_pack.py; with 8 a warp goes once through its share.
constexpr int kUnitsAtOnce = 8;
constexpr int kShiftsAtOnce = 4;
constexpr int kSumsAtOnce = 2;
constexpr int kBlocks = 3, kBlocksOfSums = 4, kBlocksOfTiles = 8;

/// Where the slots of a thread lie in the box, and which slots of their rows they are.
template <int kCount>
struct Places {
  std::uint32_t from[kCount];
  std::uint32_t to[kCount];
  std::uint32_t slot[kCount];
  bool live[kCount];
};

template <int kCount>
__device__ inline Places<kCount> find_places(const Job& job, std::uint32_t first,
                                             std::uint32_t end) {
  Places<kCount> places;
  std::uint32_t row[kCount];
  const Divisor slots_of_row = job.slots_of_row;
  const std::uint32_t width = job.width;
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    const std::uint32_t number = first + i * kWarp;
    places.live[i] = number < end;
    row[i] = divided(number, slots_of_row);
    places.slot[i] = number - row[i] * slots_of_row.divisor;
    places.from[i] = places.to[i] = places.slot[i] * width;
  }
#pragma unroll 1
  for (int l = 0; l < job.loops; ++l) {
    const JobLoop loop = job.loop[l];
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      const std::uint32_t next = divided(row[i], loop.extent);
      const std::uint32_t at = row[i] - next * loop.extent.divisor;
      places.from[i] += at * loop.from;
      places.to[i] += at * loop.to;
      row[i] = next;
    }
  }
  return places;
}

template <class T, int kCount>
__device__ inline void copy_units(const char* from, char* to, const Places<kCount>& places) {
  T values[kCount] = {};  // else registers would keep what they had, all through the loop
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    if (places.live[i]) values[i] = *reinterpret_cast<const T*>(from + places.from[i]);
  }
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    if (places.live[i]) *reinterpret_cast<T*>(to + places.to[i]) = values[i];
  }
}

/// The 16 aligned bytes of the target that a slot covers, which of them belong to the row, and
/// where what goes there begins in the source.
struct Window {
  char* to;
  const char* from;
  int low, high;
};

__device__ inline Window window_of(const char* from, char* to, std::uint32_t slot,
                                   std::uint32_t run) {
  const int before = static_cast<int>(reinterpret_cast<std::uintptr_t>(to) & 15);
  const std::int64_t left = static_cast<std::int64_t>(run) + before - slot * std::int64_t{16};
  return {to - before, from - before, slot == 0 ? before : 0,
          left < 16 ? static_cast<int>(left) : 16};
}

/// The bytes of the source that belong into a window. Both aligned blocks that they lie in are read
/// only if they have any, so nothing is read beyond the 16 bytes around the first and the last.
struct Blocks {
  uint4 first, second;
  int shift;
};

__device__ inline Blocks load_blocks(const Window& window) {
  Blocks blocks{{}, {}, static_cast<int>(reinterpret_cast<std::uintptr_t>(window.from) & 15)};
  const uint4* at = reinterpret_cast<const uint4*>(window.from - blocks.shift);
  if (blocks.shift + window.low < 16) blocks.first = __ldg(at);
  if (blocks.shift + window.high > 16) blocks.second = __ldg(at + 1);
  return blocks;
}

__device__ inline uint4 shifted(const Blocks& blocks) {
  const auto words = [](const uint4& a) { return Words<4>{{a.x, a.y, a.z, a.w}}; };
  const Words<4> value = shifted(words(blocks.first), words(blocks.second), blocks.shift);
  return {value.word[0], value.word[1], value.word[2], value.word[3]};
}

/// Some bytes of a word.
__device__ inline void store_bytes(char* to, int at, std::uint32_t value, int low, int high) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    if (low <= at + i && at + i < high) to[at + i] = static_cast<char>(value >> (8 * i));
  }
}

/// Some bytes of 8 that are aligned, in as few pieces as possible.
__device__ inline void store_half(char* to, int at, std::uint32_t first, std::uint32_t second,
                                  int low, int high) {
  if (low <= at && at + 8 <= high) {
    *reinterpret_cast<uint2*>(to + at) = {first, second};
    return;
  }
  if (low <= at && at + 4 <= high) {
    *reinterpret_cast<std::uint32_t*>(to + at) = first;
  } else {
    store_bytes(to, at, first, low, high);
  }
  if (low <= at + 4 && at + 8 <= high) {
    *reinterpret_cast<std::uint32_t*>(to + at + 4) = second;
  } else {
    store_bytes(to, at + 4, second, low, high);
  }
}

__device__ inline void store(const Window& window, const uint4& value) {
  if (window.low == 0 && window.high == 16) {
    *reinterpret_cast<uint4*>(window.to) = value;
    return;
  }
  store_half(window.to, 0, value.x, value.y, window.low, window.high);
  store_half(window.to, 8, value.z, value.w, window.low, window.high);
}

template <int kCount>
__device__ inline void copy_shifted(const char* from, char* to, const Places<kCount>& places,
                                    std::uint32_t run) {
  Window windows[kCount];
  Blocks blocks[kCount] = {};
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    windows[i] = window_of(from + places.from[i], to + places.to[i], places.slot[i], run);
    if (places.live[i] && windows[i].low < windows[i].high) blocks[i] = load_blocks(windows[i]);
  }
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    if (places.live[i] && windows[i].low < windows[i].high) store(windows[i], shifted(blocks[i]));
  }
}

__global__ __launch_bounds__(kThreads,
                             kBlocks) void copy_boxes(const DeviceWork work,
                                                      const __grid_constant__ Addresses addresses) {
  const std::uint32_t warp = (blockIdx.x * kThreads + threadIdx.x) / kWarp;
  if (warp >= work.share_count) return;
  const Share share = work.shares[warp];
  const Job& job = work.jobs[share.job];
  const char* from = address_of(addresses, job.from_buffer) + job.from;
  char* to = address_of(addresses, job.to_buffer) + job.to;
  const std::uint32_t end = min(share.first + kSlotsOfShare, job.slots);
  const std::uint32_t lane = threadIdx.x % kWarp;
  const std::uint32_t run = job.run;
  if (job.way == Way::kShifted) {
#pragma unroll 1
    for (std::uint32_t first = share.first; first < end; first += kWarp * kShiftsAtOnce) {
      copy_shifted(from, to, find_places<kShiftsAtOnce>(job, first + lane, end), run);
    }
    return;
  }
#pragma unroll 1
  for (std::uint32_t first = share.first; first < end; first += kWarp * kUnitsAtOnce) {
    const auto places = find_places<kUnitsAtOnce>(job, first + lane, end);
    switch (job.width) {
      case 16:
        copy_units<uint4>(from, to, places);
        break;
      case 8:
        copy_units<uint2>(from, to, places);
        break;
      case 4:
        copy_units<std::uint32_t>(from, to, places);
        break;
      case 2:
        copy_units<std::uint16_t>(from, to, places);
        break;
      default:
        copy_units<std::uint8_t>(from, to, places);
    }
  }
}

__global__ __launch_bounds__(kThreads, kBlocksOfTiles) void weave_boxes(
    const DeviceWork work, const __grid_constant__ Addresses addresses) {
  __shared__ TileMemory memory;
  const Tile tile = work.tiles[blockIdx.x];
  const Weave& weave = work.weaves[tile.weave];
  const std::uint32_t rows = min(weave.rows_of_tile, weave.rows - tile.first);
  const auto place = [&](std::int32_t buffer, std::int64_t offset) {
    return reinterpret_cast<std::uint64_t>(address_of(addresses, buffer) + offset);
  };
  const Worker worker{threadIdx.x, kThreads};
  begin_tile(weave, tile.first, rows, place(weave.rows_buffer, weave.rows_at),
             place(weave.parts_buffer, weave.parts_at), worker, memory);
  __syncthreads();
  fetch_tile(weave, rows, worker, memory);
  asm volatile("cp.async.wait_all;" ::: "memory");
  __syncthreads();
  write_tile(weave, rows, worker, memory);
}

/// What windows hold, combined with every source in order; without sources filled or scaled.
template <int kCount>
__device__ inline void combine_windows(const DeviceWork& work, const Addresses& addresses,
                                       const Job& job, const Window (&windows)[kCount],
                                       uint4 (&values)[kCount]) {
  const auto type = static_cast<Type>(job.type);
  const auto operation = static_cast<Operation>(job.operation);
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    if (operation == Operation::kCopy) {
      values[i] = *reinterpret_cast<const uint4*>(job.constant);
    } else if (windows[i].low < windows[i].high) {
      values[i] = *reinterpret_cast<const uint4*>(windows[i].to);
    }
  }
  if (operation == Operation::kScale) scale16(type, values, job.constant[0], job.constant[1]);
#pragma unroll 1
  for (std::uint32_t number = 0; number < job.sources; ++number) {
    const Source source = work.sources[job.first_source + number];
    const char* base = address_of(addresses, source.buffer) + source.offset;
    Blocks blocks[kCount] = {};
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      Window window = windows[i];
      window.from = base + reinterpret_cast<std::intptr_t>(window.from);
      if (window.low < window.high) blocks[i] = load_blocks(window);
    }
    uint4 addends[kCount];
#pragma unroll
    for (int i = 0; i < kCount; ++i) addends[i] = shifted(blocks[i]);
    combine16(type, operation, values, addends);
  }
}

__global__ __launch_bounds__(kThreads, kBlocksOfSums) void combine_boxes(
    const DeviceWork work, const __grid_constant__ Addresses addresses) {
  const std::uint32_t warp = (blockIdx.x * kThreads + threadIdx.x) / kWarp;
  if (warp >= work.share_count) return;
  const Share share = work.shares[warp];
  const Job& job = work.jobs[share.job];
  const char* from = reinterpret_cast<const char*>(job.from);  // of each source, see Source
  char* to = address_of(addresses, job.to_buffer) + job.to;
  const std::uint32_t end = min(share.first + kSlotsOfShare, job.slots);
  const std::uint32_t lane = threadIdx.x % kWarp;
#pragma unroll 1
  for (std::uint32_t first = share.first; first < end; first += kWarp * kSumsAtOnce) {
    const auto places = find_places<kSumsAtOnce>(job, first + lane, end);
    Window windows[kSumsAtOnce];
#pragma unroll
    for (int i = 0; i < kSumsAtOnce; ++i) {
      windows[i] = window_of(from + places.from[i], to + places.to[i], places.slot[i], job.run);
      if (!places.live[i]) windows[i].high = windows[i].low;
    }
    uint4 values[kSumsAtOnce] = {};
    combine_windows(work, addresses, job, windows, values);
#pragma unroll
    for (int i = 0; i < kSumsAtOnce; ++i) {
      if (windows[i].low < windows[i].high) store(windows[i], values[i]);
    }
  }
}

/// Shares are for warps.
template <class Kernel>
cudaError_t launch(Kernel kernel, const DeviceWork& work, const Addresses& addresses,
                   cudaStream_t stream) {
  constexpr std::uint32_t kWarps = kThreads / kWarp;
  kernel<<<(work.share_count + kWarps - 1) / kWarps, kThreads, 0, stream>>>(work, addresses);
  return cudaGetLastError();
}

}  // namespace

cudaError_t launch_copy(const DeviceWork& work, const Addresses& addresses, cudaStream_t stream) {
  return launch(copy_boxes, work, addresses, stream);
}

cudaError_t launch_weave(const DeviceWork& work, const Addresses& addresses, cudaStream_t stream) {
  weave_boxes<<<work.share_count, kThreads, 0, stream>>>(work, addresses);
  return cudaGetLastError();
}

cudaError_t launch_combine(const DeviceWork& work, const Addresses& addresses,
                           cudaStream_t stream) {
  return launch(combine_boxes, work, addresses, stream);
}

cudaError_t prepare_kernels() {
  cudaFuncAttributes attributes;
  for (auto* kernel : {copy_boxes, weave_boxes, combine_boxes}) {
    const cudaError_t status = cudaFuncGetAttributes(&attributes, kernel);
    if (status != cudaSuccess) return status;
  }
  return cudaSuccess;
}

}  // namespace weft::reshard::execute::cuda
