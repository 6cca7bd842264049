// SPDX-License-Identifier: Apache-2.0
// Three kernels. In copy_boxes and combine_boxes, each warp handles kSlotsOfWarp slots of one box.
// A thread first finds the addresses of several slots (find_places). Then it loads all these slots,
// and after that it stores them, so that the loads overlap. In copy_tiles, each block of threads
// copies one tile, see tile.h.
#include "weft/reshard/execute/cuda/combine.cuh"
#include "weft/reshard/execute/cuda/kernels.cuh"
#include "weft/reshard/execute/cuda/tile.h"

namespace weft::reshard::execute::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kWarp = 32;
/// How many slots a thread has in flight at a time, for each kind of access. More slots hide the
/// latency of memory better. But they need more registers, and three or four blocks must fit on a
/// multiprocessor. The values are the fastest in measurements with bench/gpu/reshard_pack.py. With
/// 8, a warp needs only one iteration.
constexpr int kUnitsAtOnce = 8;
constexpr int kShiftsAtOnce = 4;
constexpr int kSumsAtOnce = 2;
constexpr int kBlocks = 3, kBlocksOfSums = 4, kBlocksOfTiles = 8;

/// For the slots of a thread: their offsets in the box, and their numbers within their rows.
template <int kCount>
struct Places {
  std::uint32_t from[kCount];
  std::uint32_t to[kCount];
  std::uint32_t slot[kCount];
  bool live[kCount];
};

template <int kCount>
__device__ inline Places<kCount> find_places(const BoxWork& box, std::uint32_t first,
                                             std::uint32_t end) {
  Places<kCount> places;
  std::uint32_t row[kCount];
  const Divisor slots_of_row = box.slots_of_row;
  const std::uint32_t width = box.width;
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    const std::uint32_t number = first + i * kWarp;
    places.live[i] = number < end;
    row[i] = divided(number, slots_of_row);
    places.slot[i] = number - row[i] * slots_of_row.divisor;
    places.from[i] = places.to[i] = places.slot[i] * width;
  }
#pragma unroll 1
  for (int l = 0; l < box.loops; ++l) {
    const BoxLoop loop = box.loop[l];
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
  T values[kCount] = {};  // otherwise the compiler would keep old values in registers
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    if (places.live[i]) values[i] = *reinterpret_cast<const T*>(from + places.from[i]);
  }
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    if (places.live[i]) *reinterpret_cast<T*>(to + places.to[i]) = values[i];
  }
}

/// The window of a slot: the 16 aligned bytes of the target that the slot covers. Bytes [low, high)
/// of the window belong to the row. `from` is the address in the source for the first byte of the
/// window.
struct Window {
  char* to;
  const char* from;
  int low, high;
};

__device__ inline Window window_of(const char* from, char* to, std::uint32_t slot,
                                   std::uint32_t run) {
  // `to` is where the slot would begin if the first slot began with the row. The window begins at
  // the aligned address at or before `to`. So the first and last windows of a row are only partly
  // used.
  const int before = static_cast<int>(reinterpret_cast<std::uintptr_t>(to) & 15);
  const std::int64_t left = static_cast<std::int64_t>(run) + before - slot * std::int64_t{16};
  return {to - before, from - before, slot == 0 ? before : 0,
          left < 16 ? static_cast<int>(left) : 16};
}

/// The two aligned blocks of the source that contain the bytes of a window. A block is read only if
/// it contains at least one of these bytes. So nothing is read outside of the aligned blocks that
/// contain the row.
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

/// Stores those bytes of a word whose positions are within [low, high).
__device__ inline void store_bytes(char* to, int at, std::uint32_t value, int low, int high) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    if (low <= at + i && at + i < high) to[at + i] = static_cast<char>(value >> (8 * i));
  }
}

/// Of 8 aligned bytes, stores those whose positions are within [low, high), with as few stores as
/// possible.
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
  if (warp >= work.count) return;
  const WarpWork warp_work = work.warps[warp];
  const BoxWork& box = work.boxes[warp_work.box];
  // All slots of a warp belong to one box, so these values are the same for all its threads.
  const char* from = address_of(addresses, box.from_buffer) + box.from;
  char* to = address_of(addresses, box.to_buffer) + box.to;
  const std::uint32_t end = min(warp_work.first + kSlotsOfWarp, box.slots);
  const std::uint32_t lane = threadIdx.x % kWarp;
  const std::uint32_t run = box.run;
  if (box.access == Access::kShifted) {
#pragma unroll 1
    for (std::uint32_t first = warp_work.first; first < end; first += kWarp * kShiftsAtOnce) {
      copy_shifted(from, to, find_places<kShiftsAtOnce>(box, first + lane, end), run);
    }
    return;
  }
#pragma unroll 1
  for (std::uint32_t first = warp_work.first; first < end; first += kWarp * kUnitsAtOnce) {
    const auto places = find_places<kUnitsAtOnce>(box, first + lane, end);
    switch (box.width) {
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

/// One block of threads per tile. The three steps are separated by barriers, see tile.h.
__global__ __launch_bounds__(kThreads, kBlocksOfTiles) void copy_tiles(
    const DeviceWork work, const __grid_constant__ Addresses addresses) {
  __shared__ TileMemory memory;
  const Tile tile = work.tiles[blockIdx.x];
  const TiledCopy& copy = work.tiled[tile.copy];
  const std::uint32_t rows = min(copy.rows_of_tile, copy.rows - tile.first);
  const auto place = [&](std::int32_t buffer, std::int64_t offset) {
    return reinterpret_cast<std::uint64_t>(address_of(addresses, buffer) + offset);
  };
  const Worker worker{threadIdx.x, kThreads};
  begin_tile(copy, tile.first, rows, place(copy.rows_buffer, copy.rows_at),
             place(copy.parts_buffer, copy.parts_at), worker, memory);
  __syncthreads();
  fetch_tile(copy, rows, worker, memory);
  asm volatile("cp.async.wait_all;" ::: "memory");
  __syncthreads();
  write_tile(copy, rows, worker, memory);
}

/// Combines the contents of windows with every source, in order. If there are no sources, fills or
/// scales the windows.
template <int kCount>
__device__ inline void combine_windows(const DeviceWork& work, const Addresses& addresses,
                                       const BoxWork& box, const Window (&windows)[kCount],
                                       uint4 (&values)[kCount]) {
  const auto type = static_cast<Type>(box.type);
  const auto operation = static_cast<Operation>(box.operation);
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    if (operation == Operation::kCopy) {
      values[i] = *reinterpret_cast<const uint4*>(box.constant);
    } else if (windows[i].low < windows[i].high) {
      values[i] = *reinterpret_cast<const uint4*>(windows[i].to);
    }
  }
  // All sources are added in registers, so the target is read and written only once.
  if (operation == Operation::kScale) scale16(type, values, box.constant[0], box.constant[1]);
#pragma unroll 1
  for (std::uint32_t number = 0; number < box.sources; ++number) {
    const Source source = work.sources[box.first_source + number];
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
  if (warp >= work.count) return;
  const WarpWork warp_work = work.warps[warp];
  const BoxWork& box = work.boxes[warp_work.box];
  const char* from = reinterpret_cast<const char*>(box.from);  // an offset; see Source
  char* to = address_of(addresses, box.to_buffer) + box.to;
  const std::uint32_t end = min(warp_work.first + kSlotsOfWarp, box.slots);
  const std::uint32_t lane = threadIdx.x % kWarp;
#pragma unroll 1
  for (std::uint32_t first = warp_work.first; first < end; first += kWarp * kSumsAtOnce) {
    const auto places = find_places<kSumsAtOnce>(box, first + lane, end);
    Window windows[kSumsAtOnce];
#pragma unroll
    for (int i = 0; i < kSumsAtOnce; ++i) {
      windows[i] = window_of(from + places.from[i], to + places.to[i], places.slot[i], box.run);
      if (!places.live[i]) windows[i].high = windows[i].low;
    }
    uint4 values[kSumsAtOnce] = {};
    combine_windows(work, addresses, box, windows, values);
#pragma unroll
    for (int i = 0; i < kSumsAtOnce; ++i) {
      if (windows[i].low < windows[i].high) store(windows[i], values[i]);
    }
  }
}

/// Launches a kernel in which each warp has its own work.
template <class Kernel>
cudaError_t launch(Kernel kernel, const DeviceWork& work, const Addresses& addresses,
                   cudaStream_t stream) {
  constexpr std::uint32_t kWarps = kThreads / kWarp;
  kernel<<<(work.count + kWarps - 1) / kWarps, kThreads, 0, stream>>>(work, addresses);
  return cudaGetLastError();
}

}  // namespace

cudaError_t launch_copy(const DeviceWork& work, const Addresses& addresses, cudaStream_t stream) {
  return launch(copy_boxes, work, addresses, stream);
}

cudaError_t launch_tiled(const DeviceWork& work, const Addresses& addresses, cudaStream_t stream) {
  copy_tiles<<<work.count, kThreads, 0, stream>>>(work, addresses);
  return cudaGetLastError();
}

cudaError_t launch_combine(const DeviceWork& work, const Addresses& addresses,
                           cudaStream_t stream) {
  return launch(combine_boxes, work, addresses, stream);
}

cudaError_t prepare_kernels() {
  cudaFuncAttributes attributes;
  for (auto* kernel : {copy_boxes, copy_tiles, combine_boxes}) {
    const cudaError_t status = cudaFuncGetAttributes(&attributes, kernel);
    if (status != cudaSuccess) return status;
  }
  return cudaSuccess;
}

}  // namespace weft::reshard::execute::cuda
