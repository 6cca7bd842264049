// SPDX-License-Identifier: Apache-2.0
// Tables of a thousand ranks: those that behave alike are one row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace weft::cli {

/// A row of such a table.
struct FoldedRank {
  std::size_t index = 0;  ///< the first of its like
  std::size_t alike = 0;  ///< how many more there are
};

/// A row for each.
std::vector<FoldedRank> each_rank(std::size_t ranks);
/// `figures[i]` describe the i-th rank, as many for each. Ranks are alike if no figure differs by
/// more than a fiftieth of the largest one in its column. By their first rank.
std::vector<FoldedRank> fold_ranks(const std::vector<std::vector<double>>& figures);

/// At most `most` of them, by first rank: the rare and the common half and half, as the former are
/// what one looks for and the latter what they are compared with.
std::vector<FoldedRank> rare_and_common(std::vector<FoldedRank> rows, std::size_t most);

/// "7", or "7 +127" for a row that stands for more ranks.
std::string rank_cell(std::int32_t rank, const FoldedRank& row);
/// What was folded and what left out, for below the table; empty if nothing was.
std::string folding_note(const std::vector<FoldedRank>& shown, std::size_t ranks);

}  // namespace weft::cli
