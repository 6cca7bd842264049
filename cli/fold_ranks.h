// SPDX-License-Identifier: Apache-2.0
// Short tables of many ranks: ranks that behave alike share one row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace weft::cli {

/// A row of a table in which ranks that behave alike share a row.
struct FoldedRank {
  std::size_t index = 0;  ///< the first rank of the row, as an index into the list of ranks
  std::size_t alike = 0;  ///< how many later ranks share the row
};

/// One row per rank: every rank has its own row.
std::vector<FoldedRank> each_rank(std::size_t ranks);
/// `figures[i]` describes the i-th rank; all ranks have the same number of figures. A rank joins
/// the row of an earlier rank if no figure differs by more than 2 % of the largest figure of its
/// column. Rows are sorted by their first rank. The time is proportional to ranks x rows.
std::vector<FoldedRank> fold_ranks(const std::vector<std::vector<double>>& figures);

/// Keeps at most `most` of the rows, sorted by first rank. Half of these are the rows with the
/// fewest ranks, because readers look for outliers. The other half are the rows with the most
/// ranks: readers compare the outliers with them.
std::vector<FoldedRank> rare_and_common(std::vector<FoldedRank> rows, std::size_t most);

/// "7", or "7 +127" for a row that stands for more ranks.
std::string rank_cell(std::int32_t rank, const FoldedRank& row);
/// The line below the table. It says what "+N" means and how many ranks are in no row. Empty if
/// every rank has its own row.
std::string folding_note(const std::vector<FoldedRank>& shown, std::size_t ranks);

}  // namespace weft::cli
