// SPDX-License-Identifier: Apache-2.0
// The heat map of ranks and collectives shows how late each rank arrives at each collective. Its
// size is limited, so that a page stays small for any job. Neighbouring collectives share a column,
// which describes the collective with the largest skew (the time from the first arrival to the
// last). Only the ranks that cause most waiting get a row.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/diagnose/skew.h"

namespace weft::report {

struct HeatColumn {
  std::int64_t count = 0;  ///< number of collectives that share this column
  std::size_t worst = 0;   ///< the collective with the largest skew, as an index into the skews
};

struct HeatRow {
  std::int32_t rank = -1;
  /// For each column, the largest lateness of the rank; -1 if the rank takes part in no collective
  /// of the column.
  std::vector<Nanos> late_by;
};

struct HeatMap {
  std::vector<HeatColumn> columns;
  std::vector<HeatRow> rows;  ///< in ascending order of rank
};

struct HeatMapLimits {
  std::size_t columns = 2000;
  std::size_t rows = 48;
};

/// `skews` must be in order of time. Takes O(m log r) time, where m is the number of members of all
/// collectives together and r is the number of rows.
HeatMap make_heat_map(const std::vector<diagnose::CollectiveSkew>& skews,
                      const HeatMapLimits& limits = {});

}  // namespace weft::report
