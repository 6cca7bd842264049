// SPDX-License-Identifier: Apache-2.0
// Chooses boxes for tiles. A candidate is a box with short rows that is dense on one side (the
// message) and has gaps on the other side (the array). Candidates are sorted so that boxes that are
// adjacent in the array follow each other. A sequence of such boxes is merged into one tiled copy.
#include "weft/reshard/execute/cuda/tiled_copy.h"

#include <algorithm>
#include <tuple>

#include "weft/reshard/execute/cuda/tile.h"
#include "weft/reshard/execute/cuda/work.h"

namespace weft::reshard::execute::cuda {
namespace {

/// Rows longer than kLongRow are copied just as fast without tiles. Rows shorter than kShortRow
/// contain too few whole units.
constexpr std::int64_t kLongRow = 4 << 10, kShortRow = 32;
static_assert(kLongRow <= TiledCopy::kTileBytes && kShortRow >= kShiftedUnit);
constexpr std::int64_t kMostRows = std::int64_t{1} << 30;

/// Whether rows follow each other without gaps, in the order of the loops.
template <class Stride>
bool is_dense(const Rows& rows, Stride stride) {
  std::int64_t next = rows.run;
  for (auto loop = rows.loops.rbegin(); loop != rows.loops.rend(); ++loop) {
    if (stride(*loop) != next) return false;
    next *= loop->extent;
  }
  return true;
}

/// A box that may be copied in tiles.
struct Candidate {
  const Rows* rows = nullptr;
  bool packs = false;
  std::int64_t in_array = 0, in_message = 0;
};

/// Whether rows end in the middle of a sector and are so short that this matters.
bool has_unaligned_ends(const Rows& rows) {
  constexpr std::int64_t kLong = 512;
  std::int64_t bits = rows.to | rows.run;
  for (const CopyLoop& loop : rows.loops) bits |= loop.to;
  return rows.run < kLong && bits % static_cast<std::int64_t>(kSector) != 0;
}

bool find_candidate(const Rows& rows, Candidate& candidate) {
  std::int64_t count = 1;
  for (const CopyLoop& loop : rows.loops) count *= loop.extent;
  if (rows.run < kShortRow || rows.run > kLongRow || count < 2 || count > kMostRows ||
      rows.loops.size() > static_cast<std::size_t>(TiledCopy::kLoops)) {
    return false;
  }
  const bool aligned = rows.alignment == kBlock;
  if (!aligned && is_dense(rows, [](const CopyLoop& loop) { return loop.to; })) {
    candidate = {&rows, true, rows.from, rows.to};
    return true;
  }
  if ((!aligned || (rows.run > kBlock && has_unaligned_ends(rows))) &&
      is_dense(rows, [](const CopyLoop& loop) { return loop.from; })) {
    candidate = {&rows, false, rows.to, rows.from};
    return true;
  }
  return false;
}

/// A key that is equal for boxes that may become parts of one tiled copy.
auto kind_of(const Candidate& candidate) {
  const Rows& rows = *candidate.rows;
  return std::tuple{candidate.packs, rows.copy->from_buffer, rows.copy->to_buffer, rows.run,
                    rows.loops.size()};
}

bool is_before(const Candidate& a, const Candidate& b) {
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

/// Whether the rows of b begin in the array where the rows of a end.
bool meets(const Candidate& a, const Candidate& b) {
  return kind_of(a) == kind_of(b) && a.rows->loops == b.rows->loops &&
         a.in_array + a.rows->run == b.in_array;
}

/// 2^32 divided by `number`, rounded up.
std::uint32_t over(std::uint32_t number) {
  return static_cast<std::uint32_t>(((std::uint64_t{1} << 32) + number - 1) / number);
}

/// The distance of rows in the tile. Neighbouring threads put blocks of one message into several
/// rows at once. With this distance the rows' parts lie in different banks of shared memory, so
/// that the threads do not wait for each other.
std::uint32_t pitch_of(std::uint32_t row, std::uint32_t part) {
  constexpr std::uint32_t kBanks = 128;
  return part >= kBanks ? row : part + (row - part + kBanks - 1) / kBanks * kBanks;
}

/// Makes a tiled copy of `count` boxes, beginning with `first`. There must be so few boxes that a
/// whole row fits into a tile.
TiledCopy make_tiled_copy(const Candidate* first, std::int64_t count, std::int64_t step) {
  const Rows& rows = *first->rows;
  TiledCopy copy;
  copy.packs = first->packs ? 1 : 0;
  copy.rows_at = first->in_array;
  copy.parts_at = first->in_message;
  copy.rows_buffer = first->packs ? rows.copy->from_buffer : rows.copy->to_buffer;
  copy.parts_buffer = first->packs ? rows.copy->to_buffer : rows.copy->from_buffer;
  copy.parts_step = step;
  copy.parts = static_cast<std::uint32_t>(count);
  copy.part = static_cast<std::uint32_t>(rows.run);
  copy.loops = static_cast<std::uint8_t>(rows.loops.size());
  std::int64_t all = 1;
  for (std::size_t i = 0; i < rows.loops.size(); ++i) {
    const CopyLoop& loop = rows.loops[rows.loops.size() - 1 - i];
    copy.loop[i] = {make_divisor(static_cast<std::uint32_t>(loop.extent)),
                    first->packs ? loop.from : loop.to};
    all *= loop.extent;
  }
  copy.rows = static_cast<std::uint32_t>(all);
  int alignment = lowest_bit(kBlock | step);
  bool from_blocks = !first->packs && alignment == kBlock;
  for (std::int64_t i = 0; i < count; ++i) {
    alignment = std::min(alignment, first[i].rows->alignment);
    from_blocks = from_blocks && first[i].rows->from_blocks;
  }
  copy.aligned = static_cast<std::uint8_t>(alignment);
  const std::uint32_t row = copy.parts * copy.part;
  if (from_blocks) copy.pitch = pitch_of(row, copy.part);
  copy.rows_of_tile = std::clamp(TiledCopy::kTileBytes / (from_blocks ? copy.pitch : row), 1u,
                                 std::min(TiledCopy::kSegments, copy.rows));
  const std::uint32_t unit = alignment >= 8 && !from_blocks ? copy.aligned : kShiftedUnit;
  const auto slots = [&](std::uint32_t bytes, std::uint32_t slot) {
    const std::uint32_t before = slot - std::min<std::uint32_t>(slot, copy.aligned);
    return (before + bytes + slot - 1) / slot;
  };
  copy.blocks = slots(bytes_read(copy, copy.rows_of_tile), TileMemory::kBlock);
  copy.units = slots(bytes_written(copy, copy.rows_of_tile), unit);
  copy.over_part = over(copy.part);
  copy.over_blocks = over(copy.blocks);
  copy.over_units = over(copy.units);
  return copy;
}

}  // namespace

std::vector<TiledCopy> take_tiled_copies(std::vector<Rows>& boxes) {
  std::vector<Candidate> candidates;
  std::vector<Rows> chosen, others;
  for (Rows& rows : boxes) {
    Candidate candidate;
    (find_candidate(rows, candidate) ? chosen : others).push_back(std::move(rows));
  }
  for (const Rows& rows : chosen) find_candidate(rows, candidates.emplace_back());
  std::stable_sort(candidates.begin(), candidates.end(), is_before);
  std::vector<TiledCopy> tiled;
  for (std::size_t first = 0; first < candidates.size();) {
    const std::int64_t most = std::clamp<std::int64_t>(
        TiledCopy::kTileBytes / candidates[first].rows->run, 1, TiledCopy::kSegments);
    std::int64_t count = 1, step = 0;
    for (std::size_t next = first + 1; next < candidates.size() && count < most; ++next, ++count) {
      const std::int64_t distance = candidates[next].in_message - candidates[next - 1].in_message;
      if (!meets(candidates[next - 1], candidates[next]) || (count > 1 && distance != step)) break;
      step = distance;
    }
    tiled.push_back(make_tiled_copy(&candidates[first], count, step));
    first += static_cast<std::size_t>(count);
  }
  boxes = std::move(others);
  return tiled;
}

}  // namespace weft::reshard::execute::cuda
