// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/meetings.h"

#include <algorithm>

namespace weft::reshard {
namespace {

Meetings::Slots slots_met(const Cut& from, const Cut& to) {
  struct Piece {
    Interval strip;
    std::int32_t slot;
  };
  std::vector<Piece> pieces;
  for (std::size_t slot = 0; slot < from.slots.size(); ++slot) {
    for (const Interval& strip : from.slots[slot]) {
      pieces.push_back({strip, static_cast<std::int32_t>(slot)});
    }
  }
  std::sort(pieces.begin(), pieces.end(),
            [](const Piece& a, const Piece& b) { return a.strip.low < b.strip.low; });
  // Slots may overlap in layouts of free boxes: how far up any piece so far reaches.
  std::vector<std::int64_t> reach;
  for (const Piece& piece : pieces) {
    reach.push_back(std::max(reach.empty() ? 0 : reach.back(), piece.strip.high));
  }
  Meetings::Slots met(to.slots.size());
  for (std::size_t slot = 0; slot < to.slots.size(); ++slot) {
    std::vector<std::int32_t>& list = met[slot];
    for (const Interval& strip : to.slots[slot]) {
      auto first = static_cast<std::size_t>(
          std::upper_bound(reach.begin(), reach.end(), strip.low) - reach.begin());
      for (; first < pieces.size() && pieces[first].strip.low < strip.high; ++first) {
        if (pieces[first].strip.high > strip.low) list.push_back(pieces[first].slot);
      }
    }
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  }
  return met;
}

}  // namespace

const Meetings::Slots& Meetings::between(const std::shared_ptr<const Cut>& from,
                                         const std::shared_ptr<const Cut>& to) {
  const auto [found, fresh] = known_.try_emplace({from.get(), to.get()});
  if (fresh) found->second = {from, to, slots_met(*from, *to)};
  return found->second.slots;
}

}  // namespace weft::reshard
