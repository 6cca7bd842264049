// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/search/type_numbers.h"

#include <algorithm>

#include "weft/reshard/layout/number_hash.h"

namespace weft::reshard {
namespace {

constexpr TypeNumber kNone = -1;

std::uint64_t hash_of(const Type& type) {
  NumberHash hash;
  const auto add_list = [&](const FactorList& list) {
    for (const Factor factor : list) hash.add(factor);
    hash.add(0xff);  // the end of a list; no factor has this number
  };
  hash.add(static_cast<std::uint64_t>(type.side));
  for (const FactorList& list : type.dims) add_list(list);
  for (const Frame frame : type.frames) hash.add(static_cast<std::uint64_t>(frame));
  add_list(type.partial);
  return hash.value() ^ (hash.value() >> 32);
}

}  // namespace

TypeNumber TypeNumbers::of(const Type& type) {
  if (2 * types_.size() >= table_.size()) grow();
  const std::uint64_t hash = hash_of(type);
  const std::size_t mask = table_.size() - 1;
  std::size_t at = hash & mask;
  for (; table_[at] != kNone; at = (at + 1) & mask) {
    if (hashes_[table_[at]] == hash && types_[table_[at]] == type) return table_[at];
  }
  table_[at] = static_cast<TypeNumber>(types_.size());
  types_.push_back(type);
  hashes_.push_back(hash);
  return table_[at];
}

void TypeNumbers::grow() {
  table_.assign(std::max<std::size_t>(512, 4 * types_.size()), kNone);
  types_.reserve(table_.size() / 2);
  hashes_.reserve(table_.size() / 2);
  const std::size_t mask = table_.size() - 1;
  for (std::size_t number = 0; number < hashes_.size(); ++number) {
    std::size_t at = hashes_[number] & mask;
    while (table_[at] != kNone) at = (at + 1) & mask;
    table_[at] = static_cast<TypeNumber>(number);
  }
}

}  // namespace weft::reshard
