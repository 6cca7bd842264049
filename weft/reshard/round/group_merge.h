// SPDX-License-Identifier: Apache-2.0
// Finds which groups of summands an exchange merges.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/reshard/layout/layout.h"

namespace weft::reshard {

struct GroupMerge {
  std::vector<std::int32_t>
      merged_group;  ///< indexed by group of `from`: the group of `to` that contains it
  std::vector<std::int64_t>
      merged_count;  ///< indexed by group of `to`: how many groups of `from` it merges

  GroupMerge(const Layout& from, const Layout& to)
      : merged_group(from.groups, Layout::kAbsent), merged_count(to.groups, 0) {
    for (std::size_t i = 0; i < from.group_of_summand.size(); ++i) {
      std::int32_t& group = merged_group[from.group_of_summand[i]];
      if (group == Layout::kAbsent) ++merged_count[to.group_of_summand[i]];
      group = to.group_of_summand[i];
    }
  }
};

}  // namespace weft::reshard
