// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/check/cells.h"

#include <algorithm>
#include <limits>

#include "weft/base/check.h"

namespace weft::reshard {
namespace {

/// Marks an unused place of the hash table. Positions in an array are never this low.
constexpr std::int64_t kFree = std::numeric_limits<std::int64_t>::min();

}  // namespace

std::size_t Edges::find(std::int64_t position) const {
  const std::size_t mask = table_.size() - 1;
  std::size_t at = (static_cast<std::uint64_t>(position) * 0x9E3779B97F4A7C15u >> 32) & mask;
  while (table_[at] != position && table_[at] != kFree) at = (at + 1) & mask;
  return at;
}

void Edges::add(std::int64_t position) {
  if (2 * count_ >= table_.size()) grow();
  std::int64_t& place = table_[find(position)];
  count_ += place == kFree ? 1 : 0;
  place = position;
}

void Edges::grow() {
  const std::vector<std::int64_t> before = std::move(table_);
  table_.assign(std::max<std::size_t>(64, 4 * before.size()), kFree);
  for (const std::int64_t position : before) {
    if (position != kFree) table_[find(position)] = position;
  }
}

void Edges::assign_numbers() {
  std::vector<std::int64_t> sorted = table_;
  std::erase(sorted, kFree);
  std::sort(sorted.begin(), sorted.end());
  number_.assign(table_.size(), 0);
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    number_[find(sorted[i])] = static_cast<std::uint32_t>(i);
  }
}

template <class Take>
void CellEvents::for_each_cell(std::span<const Interval> box, const Take& take) const {
  ShortList<std::size_t, 4> low(box.size()), high(box.size()), at;
  for (std::size_t i = 0; i < box.size(); ++i) {
    low[i] = edges_[i].index(box[i].low);
    high[i] = edges_[i].index(box[i].high);
    if (low[i] >= high[i]) return;
  }
  at = low;
  for (;;) {
    std::size_t cell = 0;
    for (std::size_t i = 0; i < box.size(); ++i) cell = cell * (edges_[i].size() - 1) + at[i];
    take(cell);
    std::size_t dim = box.size();
    for (; dim > 0 && ++at[dim - 1] == high[dim - 1]; --dim) at[dim - 1] = low[dim - 1];
    if (dim == 0) return;
  }
}

CellEvents::CellEvents(std::size_t rank, std::span<const Round* const> stages) : edges_(rank) {
  std::size_t boxes = 0;
  for (const Round* stage : stages) {
    boxes += stage->size();
    for (std::size_t i = 0; i < stage->size(); ++i) {
      const std::span<const Interval> box = stage->box(i);
      for (std::size_t dim = 0; dim < rank; ++dim) {
        edges_[dim].add(box[dim].low);
        edges_[dim].add(box[dim].high);
      }
    }
  }
  WEFT_CHECK(boxes <= std::numeric_limits<std::uint32_t>::max());
  std::size_t count = 1;
  for (Edges& edges : edges_) {
    edges.assign_numbers();
    count *= edges.size() > 0 ? edges.size() - 1 : 0;
  }
  // A counting sort of events by cell: count events, compute where each cell begins, then fill in
  // the events. All boxes are visited twice, because a list of (cell, event) pairs would take more
  // memory than all other data.
  first_.assign(count + 1, 0);
  for (const Round* stage : stages) {
    for (std::size_t i = 0; i < stage->size(); ++i) {
      for_each_cell(stage->box(i), [&](std::size_t cell) { ++first_[cell]; });
    }
  }
  std::uint64_t sum = 0;
  for (std::uint64_t& first : first_) {
    const std::uint64_t events = first;
    first = sum;
    sum += events;
  }
  events_.resize(sum);
  std::uint32_t event = 0;
  for (const Round* stage : stages) {
    for (std::size_t i = 0; i < stage->size(); ++i, ++event) {
      for_each_cell(stage->box(i), [&](std::size_t cell) { events_[first_[cell]++] = event; });
    }
  }
  // Filling in has moved each start to the start of the next cell. Shift all starts back by one
  // cell.
  std::move_backward(first_.begin(), first_.end() - 1, first_.end());
  first_.front() = 0;
}

}  // namespace weft::reshard
