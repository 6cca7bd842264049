// SPDX-License-Identifier: Apache-2.0
// How groups of summands join in an exchange.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/reshard/layout/layout.h"

namespace weft::reshard {

struct Joining {
  std::vector<std::int32_t> leads_to;  ///< by group of `from`
  std::vector<std::int64_t> joins;     ///< by group of `to`: how many become one

  Joining(const Layout& from, const Layout& to)
      : leads_to(from.groups, Layout::kAbsent), joins(to.groups, 0) {
    for (std::size_t i = 0; i < from.group_of_summand.size(); ++i) {
      std::int32_t& group = leads_to[from.group_of_summand[i]];
      if (group == Layout::kAbsent) ++joins[to.group_of_summand[i]];
      group = to.group_of_summand[i];
    }
  }
};

}  // namespace weft::reshard
