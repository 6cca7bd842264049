// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/meetings.h"

#include <algorithm>

namespace weft::reshard {

const Meetings::Pieces& Meetings::pieces_of(const CutPtr& cut) {
  const auto [found, fresh] = pieces_.try_emplace(cut.get());
  Pieces& pieces = found->second;
  if (!fresh) return pieces;
  pieces.cut = cut;
  for (std::size_t slot = 0; slot < cut->slots.size(); ++slot) {
    for (const Interval& strip : cut->slots[slot]) {
      pieces.list.push_back({strip, static_cast<std::int32_t>(slot)});
    }
  }
  const auto lower = [](const Pieces::Piece& a, const Pieces::Piece& b) {
    return a.strip.low < b.strip.low;
  };
  if (!std::is_sorted(pieces.list.begin(), pieces.list.end(), lower)) {
    std::sort(pieces.list.begin(), pieces.list.end(), lower);
  }
  pieces.reach.reserve(pieces.list.size());
  for (const Pieces::Piece& piece : pieces.list) {
    pieces.reach.push_back(
        std::max(pieces.reach.empty() ? 0 : pieces.reach.back(), piece.strip.high));
  }
  return pieces;
}

template <class Take>
void Meetings::for_each_meeting(const Pieces& from, const Strips& slot, const Take& take) {
  for (const Interval& strip : slot) {
    auto first = static_cast<std::size_t>(
        std::upper_bound(from.reach.begin(), from.reach.end(), strip.low) - from.reach.begin());
    for (; first < from.list.size() && from.list[first].strip.low < strip.high; ++first) {
      const std::int64_t shared = intersect(from.list[first].strip, strip).length();
      if (shared > 0) take(from.list[first].slot, shared);
    }
  }
}

const Meetings::Slots& Meetings::between(const CutPtr& from, const CutPtr& to) {
  const auto [found, fresh] = slots_.try_emplace({from.get(), to.get()});
  if (!fresh) return found->second;
  const Pieces& pieces = pieces_of(from);
  pieces_of(to);  // keeps it, too
  found->second.resize(to->slots.size());
  for (std::size_t slot = 0; slot < to->slots.size(); ++slot) {
    std::vector<std::int32_t>& list = found->second[slot];
    for_each_meeting(pieces, to->slots[slot],
                     [&](std::int32_t met, std::int64_t) { list.push_back(met); });
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  }
  return found->second;
}

void Meetings::compare(const Cut& from, const Cut& to, Overlap& overlap) {
  for (std::size_t slot = 0; slot < to.slots.size(); ++slot) {
    if (to.slots[slot].empty()) continue;
    const Interval& strip = to.slots[slot].front();
    overlap.met[slot] = (strip.high - 1) / from.every - strip.low / from.every + 1;
  }
  for (std::size_t part = 0; part < to.slot_of.size(); ++part) {
    const Strips& wanted = to.slots[to.slot_of[part]];
    if (wanted.empty()) continue;
    overlap.common[part] =
        intersect(from.slots[from.slot_of[part]].front(), wanted.front()).length();
  }
}

void Meetings::sweep(const CutPtr& from, const Cut& to, Overlap& overlap) {
  const Pieces& pieces = pieces_of(from);
  const std::size_t slots = to.slots.size();
  // Counted, summed up, and counted back: first_[slot] is where the parts of a slot begin.
  first_.assign(slots + 1, 0);
  order_.resize(to.slot_of.size());
  for (const std::int32_t slot : to.slot_of) ++first_[slot];
  for (std::size_t slot = 0; slot < slots; ++slot) first_[slot + 1] += first_[slot];
  for (std::size_t part = order_.size(); part-- > 0;) {
    order_[--first_[to.slot_of[part]]] = static_cast<std::int32_t>(part);
  }
  shared_.assign(from->slots.size(), {});
  for (std::size_t slot = 0; slot < slots; ++slot) {
    const auto number = static_cast<std::int32_t>(slot);
    for_each_meeting(pieces, to.slots[slot], [&](std::int32_t met, std::int64_t length) {
      Shared& sum = shared_[met];
      if (sum.slot != number) {
        sum = {number, 0};
        ++overlap.met[slot];
      }
      sum.length += length;
    });
    for (std::int32_t i = first_[slot]; i < first_[slot + 1]; ++i) {
      const Shared& sum = shared_[from->slot_of[order_[i]]];
      if (sum.slot == number) overlap.common[order_[i]] = sum.length;
    }
  }
}

const Overlap& Meetings::overlap(const CutPtr& from, const CutPtr& to) {
  const auto [found, fresh] = overlaps_.try_emplace({from.get(), to.get()});
  if (!fresh) return found->second.overlap;
  found->second.from = from;
  found->second.to = to;
  Overlap& overlap = found->second.overlap;
  overlap.met.assign(to->slots.size(), 0);
  overlap.common.assign(to->slot_of.size(), 0);
  if (from->tiles && to->single) {
    compare(*from, *to, overlap);
  } else {
    sweep(from, *to, overlap);
  }
  const auto [least, most] = std::minmax_element(overlap.met.begin(), overlap.met.end());
  if (!overlap.met.empty() && *least == *most) overlap.every_met = *least;
  return overlap;
}

}  // namespace weft::reshard
