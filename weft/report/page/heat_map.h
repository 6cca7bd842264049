// SPDX-License-Identifier: Apache-2.0
// Ranks x collectives: who came how late. Kept small enough for a page, however many there are:
// neighbouring collectives share a column, of which the worst is told, and of many ranks the ones
// that keep others waiting most are kept.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/diagnose/skew.h"

namespace weft::report {

struct HeatColumn {
  std::int64_t count = 0;  ///< collectives in it
  std::size_t worst = 0;   ///< index into the skews: the one with the largest skew
};

struct HeatRow {
  std::int32_t rank = -1;
  std::vector<Nanos> late_by;  ///< largest in each column; -1: takes part in none of it
};

struct HeatMap {
  std::vector<HeatColumn> columns;
  std::vector<HeatRow> rows;  ///< by rank
};

struct HeatMapLimits {
  std::size_t columns = 2000;
  std::size_t rows = 48;
};

HeatMap make_heat_map(const std::vector<diagnose::CollectiveSkew>& skews,
                      const HeatMapLimits& limits = {});

}  // namespace weft::report
