// SPDX-License-Identifier: Apache-2.0
// Puts ranks that behave alike into the same row of a table. A rank is compared with the first rank
// of a row, not with its last rank. Otherwise a chain of small differences could put ranks that
// differ much into the same row.
#include "cli/fold_ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace weft::cli {
namespace {

/// Figures of ranks in the same row differ by at most this fraction of the largest figure in their
/// column. Step times of equal ranks differ by about this fraction.
constexpr double kAlike = 0.02;

}  // namespace

std::vector<FoldedRank> each_rank(std::size_t ranks) {
  std::vector<FoldedRank> rows(ranks);
  for (std::size_t i = 0; i < ranks; ++i) rows[i].index = i;
  return rows;
}

std::vector<FoldedRank> fold_ranks(const std::vector<std::vector<double>>& figures) {
  // The largest figure of each column; differences are measured against it.
  std::vector<double> most(figures.empty() ? 0 : figures.front().size(), 0);
  for (const std::vector<double>& rank : figures) {
    for (std::size_t k = 0; k < most.size(); ++k) most[k] = std::max(most[k], std::abs(rank[k]));
  }
  const auto alike = [&](const std::vector<double>& a, const std::vector<double>& b) {
    for (std::size_t k = 0; k < most.size(); ++k) {
      if (std::abs(a[k] - b[k]) > kAlike * most[k]) return false;
    }
    return true;
  };
  std::vector<FoldedRank> rows;
  for (std::size_t i = 0; i < figures.size(); ++i) {
    const auto found = std::find_if(rows.begin(), rows.end(), [&](const FoldedRank& row) {
      return alike(figures[row.index], figures[i]);
    });
    if (found == rows.end()) {
      rows.push_back({i, 0});
    } else {
      ++found->alike;
    }
  }
  return rows;
}

std::vector<FoldedRank> rare_and_common(std::vector<FoldedRank> rows, std::size_t most) {
  if (rows.size() <= most) return rows;
  std::stable_sort(rows.begin(), rows.end(),
                   [](const FoldedRank& a, const FoldedRank& b) { return a.alike < b.alike; });
  const auto rare = static_cast<std::ptrdiff_t>(most / 2);
  const auto common = static_cast<std::ptrdiff_t>(most) - rare;
  rows.erase(rows.begin() + rare, rows.end() - common);
  std::sort(rows.begin(), rows.end(),
            [](const FoldedRank& a, const FoldedRank& b) { return a.index < b.index; });
  return rows;
}

std::string rank_cell(std::int32_t rank, const FoldedRank& row) {
  return row.alike == 0 ? std::to_string(rank) : fmt::format("{} +{}", rank, row.alike);
}

std::string folding_note(const std::vector<FoldedRank>& shown, std::size_t ranks) {
  std::size_t told = 0;
  for (const FoldedRank& row : shown) told += 1 + row.alike;
  std::string note;
  if (told > shown.size()) note += "  +N: N more ranks behave alike";
  if (told < ranks)
    note += fmt::format("{}and {} more ranks", note.empty() ? "  ... " : "; ", ranks - told);
  return note.empty() ? note : note + " (--all shows them)\n";
}

}  // namespace weft::cli
