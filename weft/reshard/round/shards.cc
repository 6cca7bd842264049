// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/round/shards.h"

#include <algorithm>

#include "weft/reshard/layout/number_hash.h"

namespace weft::reshard {
namespace {

constexpr std::int32_t kNone = -1;

}  // namespace

std::size_t Shards::KeyHash::operator()(const ShardKey& key) const {
  NumberHash hash;
  for (const std::int32_t item : key) hash.add(static_cast<std::uint64_t>(item));
  return static_cast<std::size_t>(hash.value());
}

Shards::Shards(const Layout& layout) {
  // In a grid there are hardly more combinations than parts. Then a table is used, which is much
  // faster than a hash map. In other layouts there may be very many combinations. The factor 64
  // limits the memory of the table.
  const auto most = 64 * static_cast<std::size_t>(layout.parts());
  std::size_t combinations = layout.groups;
  for (const auto& cut : layout.cuts) {
    radix_.push_back(cut->slots.size());
    combinations = combinations > most ? combinations : combinations * cut->slots.size();
  }
  if (combinations <= most) dense_.assign(combinations, kNone);
  ShardKey key(layout.cuts.size() + 1);
  for (Part part = 0; part < layout.parts(); ++part) {
    if (!layout.holds(part)) continue;
    key[0] = layout.group[part];
    for (std::size_t i = 0; i < layout.cuts.size(); ++i) {
      key[i + 1] = layout.cuts[i]->slot_of[part];
    }
    std::int32_t& number = place_of(key);
    if (number == kNone) {
      number = static_cast<std::int32_t>(list_.size());
      list_.push_back({part, {}, {}, {}});
    }
    list_[number].parts.push_back(part);
    list_[number].holders.push_back(layout.device_of(part));
  }
  if (layout.further.empty()) return;
  for (Shard& shard : list_) std::sort(shard.holders.begin(), shard.holders.end());
}

Shard* Shards::find(const ShardKey& key) {
  if (!dense_.empty()) {
    const std::int32_t number = dense_[index_of(key)];
    return number == kNone ? nullptr : &list_[number];
  }
  const auto found = sparse_.find(key);
  return found == sparse_.end() ? nullptr : &list_[found->second];
}

std::size_t Shards::index_of(const ShardKey& key) const {
  auto index = static_cast<std::size_t>(key[0]);
  for (std::size_t i = 0; i < radix_.size(); ++i) index = index * radix_[i] + key[i + 1];
  return index;
}

std::int32_t& Shards::place_of(const ShardKey& key) {
  return dense_.empty() ? sparse_.try_emplace(key, kNone).first->second : dense_[index_of(key)];
}

}  // namespace weft::reshard
