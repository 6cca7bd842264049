// SPDX-License-Identifier: Apache-2.0
// Makes regions and divides them. cut() and slice() depend only on extents. A region has the same
// extents on sender and receiver, but may have other strides. So both devices divide a box into the
// same pieces, although they store it differently.
#include "weft/reshard/execute/program/region.h"

#include <algorithm>

#include "weft/base/check.h"

namespace weft::reshard::execute {
namespace {

/// The index of `position` if the gaps between strips are left out. `position` must be in a strip.
std::int64_t index_in(const Strips& strips, std::int64_t position) {
  std::int64_t before = 0;
  for (const Interval& strip : strips) {
    if (position < strip.high) return before + position - strip.low;
    before += strip.length();
  }
  WEFT_CHECK(false);
  return 0;
}

/// Whether strips a, b and c are at equal distances, in the array and in all parts.
bool same_distance(const Interval& a, const Interval& b, const Interval& c,
                   const std::vector<const Strips*>& parts) {
  if (b.low - a.low != c.low - b.low) return false;
  return std::all_of(parts.begin(), parts.end(), [&](const Strips* part) {
    if (part->size() == 1) return true;
    const std::int64_t middle = index_in(*part, b.low);
    return middle - index_in(*part, a.low) == index_in(*part, c.low) - middle;
  });
}

}  // namespace

Bytes Region::bytes() const {
  Bytes product = element;
  for (const Loop& loop : loops) product *= loop.extent;
  return product;
}

bool Region::dense() const {
  if (cast) return false;
  Bytes inside = element;
  for (std::size_t i = loops.size(); i-- > 0;) {
    if (loops[i].extent != 1 && loops[i].stride != inside) return false;
    inside *= loops[i].extent;
  }
  return true;
}

std::vector<Span> spans_of(const Strips& strips, const std::vector<const Strips*>& parts) {
  std::vector<Span> spans;
  for (std::size_t first = 0; first < strips.size();) {
    const std::int64_t length = strips[first].length();
    std::size_t end = first + 1;
    while (
        end < strips.size() && strips[end].length() == length &&
        (end - first < 2 || same_distance(strips[end - 2], strips[end - 1], strips[end], parts))) {
      ++end;
    }
    const std::int64_t step = end - first > 1 ? strips[first + 1].low - strips[first].low : 0;
    spans.push_back({strips[first].low, length, static_cast<std::int64_t>(end - first), step});
    first = end;
  }
  return spans;
}

Region region_in(const Storage& storage, std::span<const Span> spans) {
  Region region{storage.buffer, storage.array, storage.offset, storage.element, {},
                false,          storage.cast};
  // Two loops per dimension: over strips, and over the elements of a strip.
  region.loops.resize(2 * spans.size());
  Bytes stride = storage.element;
  for (std::size_t dim = spans.size(); dim-- > 0;) {
    const Span& span = spans[dim];
    const Strips& strips = storage.dims[dim];
    const std::int64_t low = index_in(strips, span.low);
    const std::int64_t step = span.count > 1 ? index_in(strips, span.low + span.step) - low : 0;
    region.offset += low * stride;
    region.loops[2 * dim] = {span.count, step * stride};
    region.loops[2 * dim + 1] = {span.length, stride};
    stride *= length(strips);
  }
  return region;
}

std::vector<Region> cut(const Region& region, Bytes limit) {
  std::vector<Region> pieces;
  if (region.bytes() <= limit) return {region};
  // Divide the outermost loop that has more than one iteration. Each piece gets as many iterations
  // as fit.
  std::size_t loop = 0;
  Bytes inside = region.bytes();
  while (loop < region.loops.size()) {
    inside /= region.loops[loop].extent;
    if (region.loops[loop].extent > 1) break;
    ++loop;
  }
  if (loop == region.loops.size()) return {region};
  const std::int64_t extent = region.loops[loop].extent;
  const std::int64_t rows = std::max<std::int64_t>(1, limit / inside);
  for (std::int64_t at = 0; at < extent; at += rows) {
    Region piece = region;
    piece.offset += at * region.loops[loop].stride;
    piece.loops[loop].extent = std::min(rows, extent - at);
    // If a single iteration is still too large, its inner loops are divided.
    for (Region& part : cut(piece, limit)) pieces.push_back(std::move(part));
  }
  return pieces;
}

std::vector<Region> slice(const Region& region, std::int64_t low, std::int64_t high) {
  const std::int64_t all = region.bytes() / region.element;
  if (low >= high) return {};
  if (low == 0 && high == all) return {region};
  // A slice consists of the end of one iteration of the outermost loop, then whole iterations, then
  // the start of another iteration.
  const Loop outer = region.loops.front();
  const std::int64_t inside = all / outer.extent;
  Region inner = region;
  inner.loops.erase(inner.loops.begin());
  std::vector<Region> pieces;
  const auto part_of_turn = [&](std::int64_t turn, std::int64_t begin, std::int64_t end) {
    inner.offset = region.offset + turn * outer.stride;
    for (Region& piece : slice(inner, begin, end)) pieces.push_back(std::move(piece));
  };
  const std::int64_t first = low / inside, last = high / inside;
  if (first == last) {
    part_of_turn(first, low % inside, high % inside);
    return pieces;
  }
  const std::int64_t whole = low % inside == 0 ? first : first + 1;
  if (whole > first) part_of_turn(first, low % inside, inside);
  if (whole < last) {
    pieces.push_back(region);
    pieces.back().offset += whole * outer.stride;
    pieces.back().loops.front().extent = last - whole;
  }
  part_of_turn(last, 0, high % inside);
  return pieces;
}

std::vector<Region> slice(const std::vector<Region>& regions, std::int64_t low, std::int64_t high) {
  std::vector<Region> pieces;
  for (const Region& region : regions) {
    const std::int64_t all = region.bytes() / region.element;
    for (Region& piece : slice(region, std::max<std::int64_t>(0, low), std::min(all, high))) {
      pieces.push_back(std::move(piece));
    }
    low -= all;
    high -= all;
  }
  return pieces;
}

bool divide_alike(const Region& from, const Region& to) {
  std::vector<Loop> a = joined(from).loops, b = joined(to).loops;
  while (!a.empty() && !b.empty()) {
    std::int64_t &x = a.back().extent, &y = b.back().extent;
    // The extent of the longer loop has to be a multiple of the shorter extent. The quotient
    // becomes the extent of a loop around it.
    const std::int64_t extent = std::min(x, y);
    if (x % extent != 0 || y % extent != 0) return false;
    x /= extent;
    y /= extent;
    if (x == 1) a.pop_back();
    if (y == 1) b.pop_back();
  }
  return true;
}

Region packed(const Region& region, std::int32_t buffer, Bytes offset) {
  Region dense = region;
  dense.buffer = buffer;
  dense.offset = offset;
  dense.cast = false;
  Bytes stride = region.element;
  for (std::size_t i = dense.loops.size(); i-- > 0;) {
    dense.loops[i].stride = stride;
    stride *= dense.loops[i].extent;
  }
  return dense;
}

Region joined(Region region) {
  std::vector<Loop> loops;
  // A loop continues the loop around it if one step of the outer loop is as long as all steps of
  // this loop.
  for (const Loop& loop : region.loops) {
    if (loop.extent == 1) continue;
    if (!loops.empty() && loops.back().stride == loop.stride * loop.extent) {
      loops.back() = {loops.back().extent * loop.extent, loop.stride};
    } else {
      loops.push_back(loop);
    }
  }
  region.loops = std::move(loops);
  return region;
}

StridedCopy copy_between(const Region& from, const Region& to, Bytes all) {
  WEFT_CHECK(from.bytes() == to.bytes() && from.element == to.element);
  std::vector<CopyLoop> loops;
  // Both regions walk the same box in the same order. But one loop of a region may correspond to
  // several loops of the other region. So divide the loops into common loops, starting with the
  // innermost.
  std::vector<Loop> a = joined(from).loops, b = joined(to).loops;
  while (!a.empty() && !b.empty()) {
    Loop &x = a.back(), &y = b.back();
    const std::int64_t extent = std::min(x.extent, y.extent);
    WEFT_CHECK(x.extent % extent == 0 && y.extent % extent == 0);
    loops.push_back({extent, x.stride, y.stride});
    x = {x.extent / extent, x.stride * extent};
    y = {y.extent / extent, y.stride * extent};
    if (x.extent == 1) a.pop_back();
    if (y.extent == 1) b.pop_back();
  }
  return StridedCopy(std::move(loops), from.element, all);
}

}  // namespace weft::reshard::execute
