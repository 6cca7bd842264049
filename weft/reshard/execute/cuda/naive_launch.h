// SPDX-License-Identifier: Apache-2.0
// Runs launches that copy as the kernels would, on the host. For tests.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "weft/reshard/execute/cuda/tile.h"
#include "weft/reshard/execute/cuda/work.h"

namespace weft::reshard::execute::cuda {

using Memory = std::vector<std::uint8_t>;

/// Bytes [low, high) of a row that a slot stands for, as the kernels find them.
struct Slot {
  std::int64_t from, to, low, high;
};
inline Slot slot_of(const Job& job, std::uint32_t number, std::size_t to_address) {
  std::uint32_t row = divided(number, job.slots_of_row);
  const std::int64_t slot = number - row * job.slots_of_row.divisor;
  std::int64_t from = job.from, to = job.to;
  for (int i = 0; i < job.loops; ++i) {
    const std::uint32_t next = divided(row, job.loop[i].extent);
    const std::uint32_t at = row - next * job.loop[i].extent.divisor;
    from += std::int64_t{at} * job.loop[i].from;
    to += std::int64_t{at} * job.loop[i].to;
    row = next;
  }
  const std::int64_t width = job.width;
  if (job.way == Way::kUnits) return {from, to, slot * width, (slot + 1) * width};
  const auto before = static_cast<std::int64_t>((to_address + to) % 16);
  return {from, to, std::max<std::int64_t>(0, slot * 16 - before),
          std::min<std::int64_t>(job.run, slot * 16 - before + 16)};
}

/// How often each byte of the target is written. `address`: where the target would begin.
inline std::vector<int> run_shares(const Launch& launch, const Memory& from, Memory& to,
                                   std::size_t address) {
  std::vector<int> written(to.size(), 0);
  for (const Share& share : launch.shares) {
    const Job& job = launch.jobs[share.job];
    const std::uint32_t end = std::min(share.first + kSlotsOfShare, job.slots);
    for (std::uint32_t number = share.first; number < end; ++number) {
      const Slot slot = slot_of(job, number, address);
      for (std::int64_t byte = slot.low; byte < slot.high; ++byte) {
        to[slot.to + byte] = from[slot.from + byte];
        ++written[slot.to + byte];
      }
    }
  }
  return written;
}

/// Memory that begins at any place of a block, with a block on either side.
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

/// Step by step, each by all threads in turn. Both buffers begin at `address`.
inline void run_tiles(const Launch& launch, const Memory& from, Memory& to, std::size_t address) {
  constexpr std::uint32_t kWorkers = 24;
  const Placed source(from, address), target(to, address);
  const auto memory = std::make_unique<TileMemory>();
  for (const Tile& tile : launch.tiles) {
    const Weave& weave = launch.weaves[tile.weave];
    const std::uint32_t rows = std::min(weave.rows_of_tile, weave.rows - tile.first);
    std::memset(memory.get(), 0x55, sizeof *memory);
    const auto all = [&](auto step) {
      for (std::uint32_t i = 0; i < kWorkers; ++i) step(Worker{i, kWorkers});
    };
    const auto begin = [&](bool is_from) { return is_from ? source.begin() : target.begin(); };
    all([&](Worker worker) {
      begin_tile(weave, tile.first, rows, begin(weave.packs != 0) + weave.rows_at,
                 begin(weave.packs == 0) + weave.parts_at, worker, *memory);
    });
    all([&](Worker worker) { fetch_tile(weave, rows, worker, *memory); });
    all([&](Worker worker) { write_tile(weave, rows, worker, *memory); });
  }
  to = target.memory();
}

/// All launches, which only copy, from buffer 0 to buffer 1, both of which begin at `address`.
inline Memory run_copies(const std::vector<Launch>& launches, const Memory& from, Memory to,
                         std::size_t address) {
  for (const Launch& launch : launches) {
    if (launch.kind == Launch::Kind::kWeave) {
      run_tiles(launch, from, to, address);
    } else {
      run_shares(launch, from, to, address);
    }
  }
  return to;
}

}  // namespace weft::reshard::execute::cuda
