// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/execute/cuda/work.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "weft/reshard/execute/cuda/overlap.h"
#include "weft/reshard/execute/cuda/weave.h"

namespace weft::reshard::execute::cuda {
namespace {

/// So that numbers of slots, and distances, fit into what kernels count with.
constexpr std::int64_t kMaxSlots = std::int64_t{1} << 30;
constexpr std::int64_t kMaxSpan = std::int64_t{1} << 31;
/// Below that, rows have too few aligned blocks to be worth their shifts.
constexpr std::int64_t kShortRun = 32;

Divisor divisor_of(std::int64_t number) { return make_divisor(static_cast<std::uint32_t>(number)); }

/// How a job of such rows goes about it, without places and numbers.
Job kind_of(const Rows& rows, bool combines) {
  Job job;
  const bool aligned = rows.alignment == kBlock;
  if (combines || (!aligned && rows.run >= kShortRun)) {
    job.way = Way::kShifted;
  } else {
    job.width = static_cast<std::uint8_t>(rows.alignment);
  }
  return job;
}

std::int64_t slots_of_row(const Job& job, const Rows& rows) {
  if (job.way == Way::kUnits) return rows.run / job.width;
  const std::int64_t block = job.width;
  const std::int64_t before = rows.steady ? rows.to % block : block - 1;
  return (before + rows.run + block - 1) / block;
}

/// An element to fill with is repeated up to 16 bytes.
void set_constant(const Copy& copy, Job& job) {
  const std::int64_t numbers[2] = {copy.from, copy.more};
  if (copy.operation == Operation::kScale) {
    std::memcpy(job.constant, numbers, sizeof numbers);
    return;
  }
  for (std::int64_t at = 0; at < kBlock; at += copy.element) {
    std::memcpy(reinterpret_cast<char*>(job.constant) + at, numbers,
                static_cast<std::size_t>(copy.element));
  }
}

/// How far the last byte lies behind the first, where it is further.
std::int64_t span_of(const Rows& rows) {
  std::int64_t from = rows.run, to = rows.run;
  for (const CopyLoop& loop : rows.loops) {
    from += (loop.extent - 1) * loop.from;
    to += (loop.extent - 1) * loop.to;
  }
  return std::max(from, to);
}

/// Jobs have a limited number of loops and slots: what has more becomes several.
void add_jobs(const Rows& rows, bool combines, std::uint32_t first_source, std::uint32_t sources,
              Launch& launch) {
  if (rows.run == 0) return;
  Job job = kind_of(rows, combines);
  const std::int64_t in_row = slots_of_row(job, rows);
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
  if (rows.loops.size() > static_cast<std::size_t>(Job::kLoops)) {
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
    // One row, as rows of half its length and what is left.
    Rows first = rows, second = rows;
    first.run = rows.run / 2 / kBlock * kBlock;
    second.run = rows.run - first.run;
    second.from += first.run;
    second.to += first.run;
    add_jobs(first, combines, first_source, sources, launch);
    add_jobs(second, combines, first_source, sources, launch);
    return;
  }
  // Addends lie each in a place of their own, to which this is added.
  job.from = sources > 0 ? rows.from - rows.copy->from : rows.from;
  job.to = rows.to;
  job.from_buffer = rows.copy->from_buffer;
  job.to_buffer = rows.copy->to_buffer;
  job.slots = static_cast<std::uint32_t>(slots);
  job.run = static_cast<std::uint32_t>(rows.run);
  job.slots_of_row = divisor_of(in_row);
  job.loops = static_cast<std::uint8_t>(rows.loops.size());
  for (std::size_t i = 0; i < rows.loops.size(); ++i) {
    const CopyLoop& loop = rows.loops[rows.loops.size() - 1 - i];
    job.loop[i] = {divisor_of(loop.extent), static_cast<std::uint32_t>(loop.from),
                   static_cast<std::uint32_t>(loop.to)};
  }
  job.type = static_cast<std::uint8_t>(rows.copy->type);
  job.operation = static_cast<std::uint8_t>(rows.copy->operation);
  job.first_source = first_source;
  job.sources = sources;
  if (!rows.copy->has_source()) set_constant(*rows.copy, job);
  launch.jobs.push_back(job);
}

/// All boxes advance together: what lies side by side in an array is read, or written, at about the
/// same time, whichever messages it belongs to, so that what shares a line of the cache meets
/// there. `count`, `step`: how much each has to do, and how much of it at a time.
template <class Share, class Boxes, class Count, class Step>
std::vector<Share> share_out(const Boxes& boxes, Count count, Step step) {
  struct Place {
    double progress;
    Share share;
  };
  std::vector<Place> places;
  for (std::uint32_t number = 0; number < boxes.size(); ++number) {
    const std::uint32_t all = count(boxes[number]);
    for (std::uint32_t at = 0; at < all; at += step(boxes[number])) {
      places.push_back({static_cast<double>(at) / all, {number, at}});
    }
  }
  std::stable_sort(places.begin(), places.end(),
                   [](const Place& a, const Place& b) { return a.progress < b.progress; });
  std::vector<Share> shares;
  for (const Place& place : places) shares.push_back(place.share);
  return shares;
}

/// Copies that combine into the same box, and when.
struct Sum {
  const Copy* first = nullptr;
  std::vector<const Copy*> all;
  std::size_t wave = 0;
};

bool same_box(const Copy& a, const Copy& b) {
  return a.to_buffer == b.to_buffer && a.to == b.to && a.element == b.element && a.type == b.type &&
         a.operation == b.operation && a.loops == b.loops;
}

std::vector<Sum> find_sums(const std::vector<Copy>& copies) {
  std::vector<Sum> sums;
  for (const Copy& copy : copies) {
    if (copy.operation == Operation::kCopy || !copy.has_source()) continue;
    std::size_t wave = 0;
    Sum* same = nullptr;
    for (Sum& sum : sums) {
      if (same_box(*sum.first, copy)) {
        same = &sum;
      } else if (targets_may_overlap(*sum.first, copy)) {
        wave = std::max(wave, sum.wave + 1);
        // What came later than the equal box keeps its place before this one.
        same = nullptr;
      }
    }
    if (same != nullptr && same->wave >= wave) {
      same->all.push_back(&copy);
    } else {
      sums.push_back({&copy, {&copy}, same == nullptr ? wave : std::max(wave, same->wave + 1)});
    }
  }
  return sums;
}

void keep(Launch launch, std::vector<Launch>& launches) {
  if (launch.jobs.empty() && launch.weaves.empty()) return;
  launch.shares = share_out<Share>(
      launch.jobs, [](const Job& job) { return job.slots; },
      [](const Job&) { return kSlotsOfShare; });
  launch.tiles = share_out<Tile>(
      launch.weaves, [](const Weave& weave) { return weave.rows; },
      [](const Weave& weave) { return weave.rows_of_tile; });
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
  Launch fills{Launch::Kind::kCombine}, replaces, weaves{Launch::Kind::kWeave},
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
  weaves.weaves = take_weaves(boxes);
  for (const Rows& rows : boxes) add_jobs(rows, false, 0, 0, replaces);
  keep(std::move(fills), launches);
  keep(std::move(weaves), launches);
  keep(std::move(replaces), launches);

  const std::vector<Sum> sums = find_sums(copies);
  std::size_t waves = 0;
  for (const Sum& sum : sums) waves = std::max(waves, sum.wave + 1);
  for (std::size_t wave = 0; wave < waves; ++wave) {
    Launch adds{Launch::Kind::kCombine};
    for (const Sum& sum : sums) {
      if (sum.wave != wave) continue;
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
