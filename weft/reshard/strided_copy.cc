// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/strided_copy.h"

#include <algorithm>
#include <tuple>

#include "weft/reshard/copy_rows.h"

namespace weft::reshard {
namespace {

/// Loops that go on where the loop inside them ends are one loop.
std::vector<CopyLoop> joined(std::vector<CopyLoop> loops) {
  std::erase_if(loops, [](const CopyLoop& loop) { return loop.extent == 1; });
  // Memory is written in order, since writing out of order costs more than reading so.
  std::sort(loops.begin(), loops.end(), [](const CopyLoop& a, const CopyLoop& b) {
    return std::tuple{a.to, a.from, a.extent} > std::tuple{b.to, b.from, b.extent};
  });
  std::vector<CopyLoop> found;
  for (const CopyLoop& loop : loops) {
    const bool goes_on = !found.empty() && found.back().to == loop.to * loop.extent &&
                         found.back().from == loop.from * loop.extent;
    if (goes_on) {
      found.back() = {found.back().extent * loop.extent, loop.from, loop.to};
    } else {
      found.push_back(loop);
    }
  }
  return found;
}

}  // namespace

StridedCopy::StridedCopy(std::vector<CopyLoop> loops, std::int64_t element)
    : run_(element), bytes_(element) {
  for (const CopyLoop& loop : loops) bytes_ *= loop.extent;
  if (bytes_ <= 0) {
    bytes_ = 0;
    return;
  }
  loops_ = joined(std::move(loops));
  if (!loops_.empty() && loops_.back().from == element && loops_.back().to == element) {
    run_ *= loops_.back().extent;
    loops_.pop_back();
  }
}

void StridedCopy::run(const std::byte* from, std::byte* to) const {
  if (bytes_ == 0) return;
  const CopyLoop once{1, 0, 0};
  const CopyLoop& inner = loops_.empty() ? once : loops_.back();
  const CopyRows rows = choose_copy_rows(run_, inner.to, bytes_);
  const std::size_t outer = loops_.empty() ? 0 : loops_.size() - 1;
  std::vector<std::int64_t> at(outer, 0);
  while (true) {
    rows(from, inner.from, to, inner.to, run_, inner.extent);
    std::size_t d = outer;
    for (; d > 0; --d) {
      const CopyLoop& loop = loops_[d - 1];
      from += loop.from;
      to += loop.to;
      if (++at[d - 1] < loop.extent) break;
      from -= loop.from * loop.extent;
      to -= loop.to * loop.extent;
      at[d - 1] = 0;
    }
    if (d == 0) return;
  }
}

}  // namespace weft::reshard
