// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/execute/host/task.h"

#include <algorithm>

#include "weft/base/check.h"
#include "weft/reshard/execute/host/convert.h"
#include "weft/reshard/execute/program/region.h"
#include "weft/reshard/layout/element_type.h"

namespace weft::reshard::execute {

RowWork work_between(const Program& program, const Region& from, const Region& to, bool add) {
  const Elements& elements = program.elements[to.array];
  if (from.cast) {
    // Summands are sent in the source's type, so no element is both cast and added.
    WEFT_CHECK(!add);
    const auto rows = conversion_rows(elements.source, elements.type);
    WEFT_CHECK(rows.has_value());
    return {*rows, item_size(elements.source) / from.element};
  }
  if (!add) return {};
  const auto rows = combine_rows(elements);
  WEFT_CHECK(rows.has_value());
  return {*rows, 1};
}

Task make_task(const Program& program, const Region& from, const Buffers& source, const Region& to,
               const Buffers& target, bool add) {
  const RowWork work = work_between(program, from, to, add);
  return {copy_between(from, to), source[from.buffer] + from.offset * work.width_ratio,
          target[to.buffer] + to.offset, work};
}

void pack_regions(const Program& program, const std::vector<Region>& regions,
                  const Buffers& buffers, std::byte* to) {
  const Buffers packet{to};
  Bytes at = 0;
  for (const Region& region : regions) {
    make_task(program, region, buffers, packed(region, 0, at), packet, false).run();
    at += region.bytes();
  }
}

void unpack_regions(const Program& program, const std::byte* from,
                    const std::vector<Region>& regions, const Buffers& buffers, bool add) {
  // The cast is safe: `from` is only read.
  const Buffers packet{const_cast<std::byte*>(from)};
  Bytes at = 0;
  for (const Region& region : regions) {
    make_task(program, packed(region, 0, at), packet, region, buffers, add).run();
    at += region.bytes();
  }
}

void deliver(const Program& program, const std::vector<Region>& from, const Buffers& source,
             const std::vector<Region>& to, const Buffers& target, bool add) {
  // Usually the regions of the two lists match. Then they are copied directly.
  bool alike = from.size() == to.size();
  for (std::size_t i = 0; alike && i < to.size(); ++i) {
    alike = from[i].bytes() == to[i].bytes() && divide_alike(from[i], to[i]);
  }
  if (alike) {
    for (std::size_t i = 0; i < to.size(); ++i) {
      make_task(program, from[i], source, to[i], target, add).run();
    }
    return;
  }
  // The loops do not match: pack some elements into the buffer, then unpack them on the other side.
  constexpr Bytes kBuffer = 64 << 10;
  std::vector<std::byte> between(kBuffer);
  Bytes all = 0;
  for (const Region& region : from) all += region.bytes();
  const Bytes element = from.front().element;
  for (std::int64_t at = 0; at < all / element; at += kBuffer / element) {
    const std::int64_t end = at + kBuffer / element;
    pack_regions(program, slice(from, at, end), source, between.data());
    unpack_regions(program, between.data(), slice(to, at, end), target, add);
  }
}

std::vector<Task> split(const Task& task, Bytes grain) {
  // Divide the outermost loop. If a single iteration is larger than the grain, divide it again.
  const Bytes pieces = task.copy.bytes() / grain;
  if (pieces < 2) return {task};
  std::vector<Task> tasks;
  const std::vector<CopyLoop>& loops = task.copy.loops();
  const Bytes run = task.copy.run_bytes();
  if (loops.empty()) {
    // Divide into whole cache lines, which consist of whole elements of every type.
    constexpr Bytes kLine = 64;
    const Bytes step = (run / pieces + kLine - 1) / kLine * kLine;
    for (Bytes at = 0; at < run; at += step) {
      tasks.push_back({StridedCopy({}, std::min(step, run - at)),
                       task.from + at * task.work.width_ratio, task.to + at, task.work});
    }
    return tasks;
  }
  const CopyLoop& outer = loops.front();
  const std::int64_t step = std::max<std::int64_t>(1, outer.extent / pieces);
  for (std::int64_t at = 0; at < outer.extent; at += step) {
    std::vector<CopyLoop> rest = loops;
    rest[0].extent = std::min(step, outer.extent - at);
    const Task piece{StridedCopy(std::move(rest), run),
                     task.from + at * outer.from * task.work.width_ratio, task.to + at * outer.to,
                     task.work};
    for (Task& part : split(piece, grain)) tasks.push_back(std::move(part));
  }
  return tasks;
}

}  // namespace weft::reshard::execute
