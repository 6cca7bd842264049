// SPDX-License-Identifier: Apache-2.0
// For tests: runs launches that copy. It works on the host and does the same as the kernels.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "weft/reshard/execute/cuda/tile.h"
#include "weft/reshard/execute/cuda/work.h"

namespace weft::reshard::execute::cuda {

using Memory = std::vector<std::uint8_t>;

/// The bytes [low, high) of a row that a slot covers, computed as in the kernels. The row begins at
/// `from` in the source and at `to` in the target.
struct Slot {
  std::int64_t from, to, low, high;
};
inline Slot slot_of(const BoxWork& box, std::uint32_t number, std::size_t to_address) {
  std::uint32_t row = divided(number, box.slots_of_row);
  const std::int64_t slot = number - row * box.slots_of_row.divisor;
  std::int64_t from = box.from, to = box.to;
  for (int i = 0; i < box.loops; ++i) {
    const std::uint32_t next = divided(row, box.loop[i].extent);
    const std::uint32_t at = row - next * box.loop[i].extent.divisor;
    from += std::int64_t{at} * box.loop[i].from;
    to += std::int64_t{at} * box.loop[i].to;
    row = next;
  }
  const std::int64_t width = box.width;
  if (box.access == Access::kUnits) return {from, to, slot * width, (slot + 1) * width};
  const auto before = static_cast<std::int64_t>((to_address + to) % 16);
  return {from, to, std::max<std::int64_t>(0, slot * 16 - before),
          std::min<std::int64_t>(box.run, slot * 16 - before + 16)};
}

/// Runs the warps of a launch. Returns how often each byte of the target is written. `address` is
/// the address at which the target would begin.
inline std::vector<int> run_warps(const Launch& launch, const Memory& from, Memory& to,
                                  std::size_t address) {
  std::vector<int> written(to.size(), 0);
  for (const WarpWork& warp_work : launch.warps) {
    const BoxWork& box = launch.boxes[warp_work.box];
    const std::uint32_t end = std::min(warp_work.first + kSlotsOfWarp, box.slots);
    for (std::uint32_t number = warp_work.first; number < end; ++number) {
      const Slot slot = slot_of(box, number, address);
      for (std::int64_t byte = slot.low; byte < slot.high; ++byte) {
        to[slot.to + byte] = from[slot.from + byte];
        ++written[slot.to + byte];
      }
    }
  }
  return written;
}

/// Memory that begins at a given offset in a block, with at least one block before and behind it.
class Placed {
 public:
  Placed(const Memory& memory, std::size_t address)
      : blocks_((memory.size() + address % 16) / 16 + 3), size_(memory.size()) {
    begin_ = reinterpret_cast<std::uint8_t*>(blocks_.data() + 1) + address % 16;
    if (size_ > 0) std::memcpy(begin_, memory.data(), size_);
  }
  std::uint64_t begin() const { return reinterpret_cast<std::uint64_t>(begin_); }
  Memory memory() const { return {begin_, begin_ + size_}; }

 private:
  struct alignas(16) Block {
    std::uint8_t bytes[16];
  };
  std::vector<Block> blocks_;
  std::size_t size_;
  std::uint8_t* begin_;
};

/// Runs the tiles of a launch step by step. All threads run each step, one after the other. Both
/// buffers begin at `address`.
inline void run_tiles(const Launch& launch, const Memory& from, Memory& to, std::size_t address) {
  constexpr std::uint32_t kWorkers = 24;
  const Placed source(from, address), target(to, address);
  const auto memory = std::make_unique<TileMemory>();
  for (const Tile& tile : launch.tiles) {
    const TiledCopy& copy = launch.tiled[tile.copy];
    const std::uint32_t rows = std::min(copy.rows_of_tile, copy.rows - tile.first);
    std::memset(memory.get(), 0x55, sizeof *memory);
    const auto all = [&](auto step) {
      for (std::uint32_t i = 0; i < kWorkers; ++i) step(Worker{i, kWorkers});
    };
    const auto begin = [&](bool is_from) { return is_from ? source.begin() : target.begin(); };
    all([&](Worker worker) {
      begin_tile(copy, tile.first, rows, begin(copy.packs != 0) + copy.rows_at,
                 begin(copy.packs == 0) + copy.parts_at, worker, *memory);
    });
    all([&](Worker worker) { fetch_tile(copy, rows, worker, *memory); });
    all([&](Worker worker) { write_tile(copy, rows, worker, *memory); });
  }
  to = target.memory();
}

/// Runs all launches, which may only copy from buffer 0 to buffer 1. Both begin at `address`.
inline Memory run_copies(const std::vector<Launch>& launches, const Memory& from, Memory to,
                         std::size_t address) {
  for (const Launch& launch : launches) {
    if (launch.kind == Launch::Kind::kTiled) {
      run_tiles(launch, from, to, address);
    } else {
      run_warps(launch, from, to, address);
    }
  }
  return to;
}

}  // namespace weft::reshard::execute::cuda
