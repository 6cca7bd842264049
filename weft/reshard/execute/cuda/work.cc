// SPDX-License-Identifier: Apache-2.0
// Divides copies among warps and tiles. make_work() sorts copies by kind. It chooses tiles for
// copies that are faster with tiles. It turns the other copies into boxes with as few loops as
// possible, and divides all boxes into pieces of equal size. Additions are grouped first: all
// addends of one box are added in one pass over the target, in the order of the copies.
#include "weft/reshard/execute/cuda/work.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "weft/reshard/execute/cuda/overlap.h"
#include "weft/reshard/execute/cuda/tiled_copy.h"

namespace weft::reshard::execute::cuda {
namespace {

/// Limits, so that numbers of slots and distances fit into the 32-bit numbers of the kernels.
constexpr std::int64_t kMaxSlots = std::int64_t{1} << 30;
constexpr std::int64_t kMaxSpan = std::int64_t{1} << 31;
/// Shorter rows have too few aligned blocks for shifted access to be worth it.
constexpr std::int64_t kShortRun = 32;

Divisor divisor_of(std::int64_t number) { return make_divisor(static_cast<std::uint32_t>(number)); }

/// A box with the kind of access that suits these rows. The caller sets addresses and numbers.
BoxWork kind_of(const Rows& rows, bool combines) {
  BoxWork box;
  const bool aligned = rows.alignment == kBlock;
  if (combines || (!aligned && rows.run >= kShortRun)) {
    box.access = Access::kShifted;
  } else {
    box.width = static_cast<std::uint8_t>(rows.alignment);
  }
  return box;
}

std::int64_t slots_of_row(const BoxWork& box, const Rows& rows) {
  if (box.access == Access::kUnits) return rows.run / box.width;
  const std::int64_t block = box.width;
  const std::int64_t before = rows.steady ? rows.to % block : block - 1;
  return (before + rows.run + block - 1) / block;
}

/// Sets the element to fill with, repeated up to 16 bytes, or the numbers to scale with.
void set_constant(const Copy& copy, BoxWork& box) {
  const std::int64_t numbers[2] = {copy.from, copy.more};
  if (copy.operation == Operation::kScale) {
    std::memcpy(box.constant, numbers, sizeof numbers);
    return;
  }
  for (std::int64_t at = 0; at < kBlock; at += copy.element) {
    std::memcpy(reinterpret_cast<char*>(box.constant) + at, numbers,
                static_cast<std::size_t>(copy.element));
  }
}

/// The distance from the first to the last byte, in the source or in the target, whichever is
/// larger.
std::int64_t span_of(const Rows& rows) {
  std::int64_t from = rows.run, to = rows.run;
  for (const CopyLoop& loop : rows.loops) {
    from += (loop.extent - 1) * loop.from;
    to += (loop.extent - 1) * loop.to;
  }
  return std::max(from, to);
}

/// Adds boxes for the rows. A box may have only a limited number of loops and slots, so large
/// copies become several boxes.
void add_jobs(const Rows& rows, bool combines, std::uint32_t first_source, std::uint32_t sources,
              Launch& launch) {
  if (rows.run == 0) return;
  BoxWork box = kind_of(rows, combines);
  const std::int64_t in_row = slots_of_row(box, rows);
  std::int64_t slots = in_row;
  for (const CopyLoop& loop : rows.loops) slots *= loop.extent;
  const auto part = [&](std::int64_t at, std::int64_t extent) {
    Rows less = rows;
    less.from += at * rows.loops.front().from;
    less.to += at * rows.loops.front().to;
    less.loops.front().extent = extent;
    if (extent == 1) less.loops.erase(less.loops.begin());
    add_jobs(less, combines, first_source, sources, launch);
  };
  if (rows.loops.size() > static_cast<std::size_t>(BoxWork::kLoops)) {
    for (std::int64_t i = 0; i < rows.loops.front().extent; ++i) part(i, 1);
    return;
  }
  const bool large = slots > kMaxSlots || span_of(rows) > kMaxSpan;
  if (large && !rows.loops.empty()) {
    const std::int64_t extent = rows.loops.front().extent;
    part(0, extent / 2);
    part(extent / 2, extent - extent / 2);
    return;
  }
  if (large) {
    // A single row: split it into two rows of about half its length.
    Rows first = rows, second = rows;
    first.run = rows.run / 2 / kBlock * kBlock;
    second.run = rows.run - first.run;
    second.from += first.run;
    second.to += first.run;
    add_jobs(first, combines, first_source, sources, launch);
    add_jobs(second, combines, first_source, sources, launch);
    return;
  }
  // Each addend has its own offset (Source::offset), to which the offset within the box is added.
  box.from = sources > 0 ? rows.from - rows.copy->from : rows.from;
  box.to = rows.to;
  box.from_buffer = rows.copy->from_buffer;
  box.to_buffer = rows.copy->to_buffer;
  box.slots = static_cast<std::uint32_t>(slots);
  box.run = static_cast<std::uint32_t>(rows.run);
  box.slots_of_row = divisor_of(in_row);
  box.loops = static_cast<std::uint8_t>(rows.loops.size());
  for (std::size_t i = 0; i < rows.loops.size(); ++i) {
    const CopyLoop& loop = rows.loops[rows.loops.size() - 1 - i];
    box.loop[i] = {divisor_of(loop.extent), static_cast<std::uint32_t>(loop.from),
                   static_cast<std::uint32_t>(loop.to)};
  }
  box.type = static_cast<std::uint8_t>(rows.copy->type);
  box.operation = static_cast<std::uint8_t>(rows.copy->operation);
  box.first_source = first_source;
  box.sources = sources;
  if (!rows.copy->has_source()) set_constant(*rows.copy, box);
  launch.boxes.push_back(box);
}

/// Divides the boxes into pieces and orders them so that all boxes advance at the same rate. So
/// pieces that are adjacent in an array are copied at about the same time, whatever messages they
/// belong to, and share cache lines. `count` says how much work a box has. `step` says how much of
/// this work a piece has.
template <class Piece, class Boxes, class Count, class Step>
std::vector<Piece> interleave_work(const Boxes& boxes, Count count, Step step) {
  struct Progress {
    double done;
    Piece piece;
  };
  std::vector<Progress> order;
  for (std::uint32_t number = 0; number < boxes.size(); ++number) {
    const std::uint32_t all = count(boxes[number]);
    for (std::uint32_t at = 0; at < all; at += step(boxes[number])) {
      order.push_back({static_cast<double>(at) / all, {number, at}});
    }
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const Progress& a, const Progress& b) { return a.done < b.done; });
  std::vector<Piece> pieces;
  for (const Progress& item : order) pieces.push_back(item.piece);
  return pieces;
}

/// Copies that combine into the same box. `pass`: the number of the launch that runs them.
struct Sum {
  const Copy* first = nullptr;
  std::vector<const Copy*> all;
  std::size_t pass = 0;
};

bool same_box(const Copy& a, const Copy& b) {
  return a.to_buffer == b.to_buffer && a.to == b.to && a.element == b.element && a.type == b.type &&
         a.operation == b.operation && a.loops == b.loops;
}

std::vector<Sum> find_sums(const std::vector<Copy>& copies) {
  std::vector<Sum> sums;
  for (const Copy& copy : copies) {
    if (copy.operation == Operation::kCopy || !copy.has_source()) continue;
    std::size_t pass = 0;
    Sum* same = nullptr;
    for (Sum& sum : sums) {
      if (same_box(*sum.first, copy)) {
        same = &sum;
      } else if (targets_may_overlap(*sum.first, copy)) {
        pass = std::max(pass, sum.pass + 1);
        // `sum` overlaps this copy and runs after the earlier sum with the same box. If the copy
        // became part of that earlier sum, it would run before `sum`. This is not allowed, so make
        // a new sum.
        same = nullptr;
      }
    }
    if (same != nullptr && same->pass >= pass) {
      same->all.push_back(&copy);
    } else {
      sums.push_back({&copy, {&copy}, same == nullptr ? pass : std::max(pass, same->pass + 1)});
    }
  }
  return sums;
}

void keep(Launch launch, std::vector<Launch>& launches) {
  if (launch.boxes.empty() && launch.tiled.empty()) return;
  launch.warps = interleave_work<WarpWork>(
      launch.boxes, [](const BoxWork& box) { return box.slots; },
      [](const BoxWork&) { return kSlotsOfWarp; });
  launch.tiles = interleave_work<Tile>(
      launch.tiled, [](const TiledCopy& copy) { return copy.rows; },
      [](const TiledCopy& copy) { return copy.rows_of_tile; });
  launches.push_back(std::move(launch));
}

}  // namespace

Divisor make_divisor(std::uint32_t divisor) {
  const int shift = std::bit_width(divisor - 1);
  const std::uint64_t more = (std::uint64_t{1} << shift) - divisor;
  const auto multiplier = static_cast<std::uint32_t>((more << 32) / divisor + 1);
  return {divisor, multiplier, static_cast<std::uint32_t>(shift)};
}

std::vector<Launch> make_work(const std::vector<Copy>& copies, const std::vector<int>& alignment) {
  std::vector<Launch> launches;
  Launch fills{Launch::Kind::kCombine}, replaces, tiled{Launch::Kind::kTiled},
      scales{Launch::Kind::kCombine};
  std::vector<Rows> boxes;
  for (const Copy& copy : copies) {
    const bool plain = copy.operation == Operation::kCopy;
    if (plain && copy.has_source()) {
      boxes.push_back(rows_of(copy, alignment));
    } else if (!copy.has_source()) {
      add_jobs(rows_of(copy, alignment), true, 0, 0, plain ? fills : scales);
    }
  }
  tiled.tiled = take_tiled_copies(boxes);
  for (const Rows& rows : boxes) add_jobs(rows, false, 0, 0, replaces);
  keep(std::move(fills), launches);
  keep(std::move(tiled), launches);
  keep(std::move(replaces), launches);

  const std::vector<Sum> sums = find_sums(copies);
  std::size_t passes = 0;
  for (const Sum& sum : sums) passes = std::max(passes, sum.pass + 1);
  for (std::size_t pass = 0; pass < passes; ++pass) {
    Launch adds{Launch::Kind::kCombine};
    for (const Sum& sum : sums) {
      if (sum.pass != pass) continue;
      const auto first = static_cast<std::uint32_t>(adds.sources.size());
      for (const Copy* copy : sum.all) adds.sources.push_back({copy->from, copy->from_buffer, 0});
      add_jobs(rows_of(*sum.first, alignment), true, first,
               static_cast<std::uint32_t>(sum.all.size()), adds);
    }
    keep(std::move(adds), launches);
  }
  keep(std::move(scales), launches);
  return launches;
}

}  // namespace weft::reshard::execute::cuda
