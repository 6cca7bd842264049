// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/execute/cuda/weave.h"

#include <algorithm>
#include <tuple>

#include "weft/reshard/execute/cuda/tile.h"
#include "weft/reshard/execute/cuda/work.h"

namespace weft::reshard::execute::cuda {
namespace {

/// Longer rows are copied as well without, shorter ones have few whole units.
constexpr std::int64_t kLongRow = 4 << 10, kShortRow = 32;
static_assert(kLongRow <= Weave::kTileBytes && kShortRow >= kShiftedUnit);
constexpr std::int64_t kMostRows = std::int64_t{1} << 30;

/// Whether rows lie one after the other, in the order of the loops.
template <class Stride>
bool is_dense(const Rows& rows, Stride stride) {
  std::int64_t next = rows.run;
  for (auto loop = rows.loops.rbegin(); loop != rows.loops.rend(); ++loop) {
    if (stride(*loop) != next) return false;
    next *= loop->extent;
  }
  return true;
}

/// One box of a weave.
struct Strand {
  const Rows* rows = nullptr;
  bool packs = false;
  std::int64_t in_array = 0, in_message = 0;
};

/// Whether ends of rows fall into the middle of what the cache writes at a time, of rows that are
/// not so long that it does not matter.
bool has_rough_ends(const Rows& rows) {
  constexpr std::int64_t kLong = 512;
  std::int64_t bits = rows.to | rows.run;
  for (const CopyLoop& loop : rows.loops) bits |= loop.to;
  return rows.run < kLong && bits % static_cast<std::int64_t>(kSector) != 0;
}

bool find_strand(const Rows& rows, Strand& strand) {
  std::int64_t count = 1;
  for (const CopyLoop& loop : rows.loops) count *= loop.extent;
  if (rows.run < kShortRow || rows.run > kLongRow || count < 2 || count > kMostRows ||
      rows.loops.size() > static_cast<std::size_t>(Weave::kLoops)) {
    return false;
  }
  const bool aligned = rows.alignment == kBlock;
  if (!aligned && is_dense(rows, [](const CopyLoop& loop) { return loop.to; })) {
    strand = {&rows, true, rows.from, rows.to};
    return true;
  }
  if ((!aligned || (rows.run > kBlock && has_rough_ends(rows))) &&
      is_dense(rows, [](const CopyLoop& loop) { return loop.from; })) {
    strand = {&rows, false, rows.to, rows.from};
    return true;
  }
  return false;
}

/// Equal for boxes that may be parts of one weave.
auto kind_of(const Strand& strand) {
  const Rows& rows = *strand.rows;
  return std::tuple{strand.packs, rows.copy->from_buffer, rows.copy->to_buffer, rows.run,
                    rows.loops.size()};
}

bool is_before(const Strand& a, const Strand& b) {
  if (kind_of(a) != kind_of(b)) return kind_of(a) < kind_of(b);
  const auto numbers = [](const CopyLoop& loop) {
    return std::tuple{loop.extent, loop.from, loop.to};
  };
  for (std::size_t i = 0; i < a.rows->loops.size(); ++i) {
    const CopyLoop &x = a.rows->loops[i], &y = b.rows->loops[i];
    if (x != y) return numbers(x) < numbers(y);
  }
  return a.in_array < b.in_array;
}

/// Whether the rows of b begin in the array where those of a end.
bool meets(const Strand& a, const Strand& b) {
  return kind_of(a) == kind_of(b) && a.rows->loops == b.rows->loops &&
         a.in_array + a.rows->run == b.in_array;
}

std::uint32_t over(std::uint32_t number) {
  return static_cast<std::uint32_t>(((std::uint64_t{1} << 32) + number - 1) / number);
}

/// Threads that stand side by side put blocks of a message into some rows at once: each row's part
/// has other banks of the memory, so that they do not wait for each other.
std::uint32_t pitch_of(std::uint32_t row, std::uint32_t part) {
  constexpr std::uint32_t kBanks = 128;
  return part >= kBanks ? row : part + (row - part + kBanks - 1) / kBanks * kBanks;
}

/// Boxes from `first` on, `count` of them, few enough for a tile.
Weave make_weave(const Strand* first, std::int64_t count, std::int64_t step) {
  const Rows& rows = *first->rows;
  Weave weave;
  weave.packs = first->packs ? 1 : 0;
  weave.rows_at = first->in_array;
  weave.parts_at = first->in_message;
  weave.rows_buffer = first->packs ? rows.copy->from_buffer : rows.copy->to_buffer;
  weave.parts_buffer = first->packs ? rows.copy->to_buffer : rows.copy->from_buffer;
  weave.parts_step = step;
  weave.parts = static_cast<std::uint32_t>(count);
  weave.part = static_cast<std::uint32_t>(rows.run);
  weave.loops = static_cast<std::uint8_t>(rows.loops.size());
  std::int64_t all = 1;
  for (std::size_t i = 0; i < rows.loops.size(); ++i) {
    const CopyLoop& loop = rows.loops[rows.loops.size() - 1 - i];
    weave.loop[i] = {make_divisor(static_cast<std::uint32_t>(loop.extent)),
                     first->packs ? loop.from : loop.to};
    all *= loop.extent;
  }
  weave.rows = static_cast<std::uint32_t>(all);
  int alignment = lowest_bit(kBlock | step);
  bool from_blocks = !first->packs && alignment == kBlock;
  for (std::int64_t i = 0; i < count; ++i) {
    alignment = std::min(alignment, first[i].rows->alignment);
    from_blocks = from_blocks && first[i].rows->from_blocks;
  }
  weave.aligned = static_cast<std::uint8_t>(alignment);
  const std::uint32_t row = weave.parts * weave.part;
  if (from_blocks) weave.pitch = pitch_of(row, weave.part);
  weave.rows_of_tile = std::clamp(Weave::kTileBytes / (from_blocks ? weave.pitch : row), 1u,
                                  std::min(Weave::kSegments, weave.rows));
  const std::uint32_t unit = alignment >= 8 && !from_blocks ? weave.aligned : kShiftedUnit;
  const auto slots = [&](std::uint32_t bytes, std::uint32_t slot) {
    const std::uint32_t before = slot - std::min<std::uint32_t>(slot, weave.aligned);
    return (before + bytes + slot - 1) / slot;
  };
  weave.blocks = slots(bytes_read(weave, weave.rows_of_tile), TileMemory::kBlock);
  weave.units = slots(bytes_written(weave, weave.rows_of_tile), unit);
  weave.over_part = over(weave.part);
  weave.over_blocks = over(weave.blocks);
  weave.over_units = over(weave.units);
  return weave;
}

}  // namespace

std::vector<Weave> take_weaves(std::vector<Rows>& boxes) {
  std::vector<Strand> strands;
  std::vector<Rows> woven, others;
  for (Rows& rows : boxes) {
    Strand strand;
    (find_strand(rows, strand) ? woven : others).push_back(std::move(rows));
  }
  for (const Rows& rows : woven) find_strand(rows, strands.emplace_back());
  std::stable_sort(strands.begin(), strands.end(), is_before);
  std::vector<Weave> weaves;
  for (std::size_t first = 0; first < strands.size();) {
    const std::int64_t most =
        std::clamp<std::int64_t>(Weave::kTileBytes / strands[first].rows->run, 1, Weave::kSegments);
    std::int64_t count = 1, step = 0;
    for (std::size_t next = first + 1; next < strands.size() && count < most; ++next, ++count) {
      const std::int64_t distance = strands[next].in_message - strands[next - 1].in_message;
      if (!meets(strands[next - 1], strands[next]) || (count > 1 && distance != step)) break;
      step = distance;
    }
    weaves.push_back(make_weave(&strands[first], count, step));
    first += static_cast<std::size_t>(count);
  }
  boxes = std::move(others);
  return weaves;
}

}  // namespace weft::reshard::execute::cuda
