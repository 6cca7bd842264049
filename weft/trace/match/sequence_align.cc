// SPDX-License-Identifier: Apache-2.0
// Aligns two lists of calls:
//   1. If all items of both lists carry ascending numbers, merge the lists by number. Done.
//   2. Find the offset between the clocks. Candidates come from all shifts of one list against the
//      other. Each candidate is scored by how many ends agree under it, first on a sample of items,
//      and for the best candidates on all items.
//   3. Find the best pairs under this offset by dynamic programming: a longest common subsequence
//      in which each pair has a weight (as in the algorithm of Needleman and Wunsch, with gaps that
//      cost nothing). Then estimate the offset near each pair by a running median, and repeat once,
//      so that clocks may drift.
//   4. If the result has holes, either calls were lost or a clock was set during the recording. Try
//      the second explanation too, and keep the one with the higher score.
//   5. Drop pairs whose ends do not agree.
// The score of a pair of ends falls slowly with their distance (see closeness()), so a few outliers
// cannot outweigh many ends that agree. Medians make the offsets robust in the same way.
#include "weft/trace/match/sequence_align.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "weft/base/median.h"

namespace weft::trace {
namespace {

using Items = std::vector<SequenceItem>;
using Pair = std::pair<std::uint32_t, std::uint32_t>;

constexpr std::size_t kMaxCells = 1'000'000;       // a table with more cells is reduced to a band
constexpr std::size_t kBand = 256;                 // half width of the band
constexpr std::size_t kMaxShift = 4096;            // one list may lack this many first entries
constexpr Nanos kSpreadFloor = 20 * kMicrosecond;  // a smaller spread counts as this spread

bool compatible(const SequenceItem& a, const SequenceItem& b) {
  if (a.kind >= 0 && b.kind >= 0 && a.kind != b.kind) return false;
  if (a.sequence >= 0 && b.sequence >= 0) return a.sequence == b.sequence;
  return a.bytes < 0 || b.bytes < 0 || a.bytes == b.bytes;
}

// Score of two ends that differ by `residual`: 1 if they agree, and falling slowly. The jitter of
// ends is tens of microseconds over NVLink and milliseconds over slow sockets, and it is not known
// in advance. So the score is the mean of four Cauchy kernels, from 50 us to 50 ms wide.
double closeness(Nanos residual) {
  double sum = 0;
  for (const double width : {50e3, 500e3, 5e6, 50e6}) {
    const double x = static_cast<double>(residual) / width;
    sum += 1 / (1 + x * x);
  }
  return sum / 4;
}

// Returns how well the ends agree under an offset. For every `step`-th item of `a`, adds the score
// of the nearest compatible end among its neighbours in time.
double agreement(const Items& a, const Items& b_by_end, Nanos offset, std::size_t step) {
  constexpr std::ptrdiff_t kNeighbours = 3;
  double sum = 0;
  const auto size = static_cast<std::ptrdiff_t>(b_by_end.size());
  for (std::size_t i = 0; i < a.size(); i += step) {
    const Nanos target = a[i].end - offset;
    const auto at = std::lower_bound(b_by_end.begin(), b_by_end.end(), target,
                                     [](const SequenceItem& x, Nanos t) { return x.end < t; });
    const std::ptrdiff_t centre = at - b_by_end.begin();
    Nanos nearest = -1;
    for (std::ptrdiff_t j = std::max<std::ptrdiff_t>(0, centre - kNeighbours);
         j < std::min(size, centre + kNeighbours); ++j) {
      if (!compatible(a[i], b_by_end[j])) continue;
      const Nanos distance = std::abs(b_by_end[j].end - target);
      if (nearest < 0 || distance < nearest) nearest = distance;
    }
    if (nearest >= 0) sum += closeness(nearest);
  }
  return sum;
}

// Lists the offsets to try. For every shift of one list against the other, these are the median
// differences of ends over all items and over each third of the items. If calls are missing in the
// middle of a list, the overall median is wrong, but the median of one third is right. Uses at most
// 96 items per shift, which is enough for a median.
std::vector<Nanos> candidate_offsets(const Items& a, const Items& b) {
  std::vector<Nanos> candidates;
  const auto n = static_cast<std::ptrdiff_t>(a.size());
  const auto m = static_cast<std::ptrdiff_t>(b.size());
  const auto limit = static_cast<std::ptrdiff_t>(kMaxShift);
  std::vector<Nanos> all;
  std::vector<Nanos> part;
  for (std::ptrdiff_t shift = std::max(1 - n, -limit); shift < std::min(m, limit); ++shift) {
    const std::ptrdiff_t first = std::max<std::ptrdiff_t>(0, -shift);
    const std::ptrdiff_t last = std::min(n, m - shift);
    const std::ptrdiff_t step = std::max<std::ptrdiff_t>(1, (last - first) / 96);
    all.clear();
    for (std::ptrdiff_t i = first; i < last; i += step) {
      if (compatible(a[i], b[i + shift])) all.push_back(a[i].end - b[i + shift].end);
    }
    if (all.empty()) continue;
    const std::size_t third = all.size() / 3;
    for (std::size_t k = 0; k < 3 && third >= 2; ++k) {
      const auto from = all.begin() + static_cast<std::ptrdiff_t>(k * third);
      part.assign(from, from + static_cast<std::ptrdiff_t>(third));
      candidates.push_back(median(part));
    }
    candidates.push_back(median(all));
  }
  return candidates;
}

// Returns the offset in the usual case, which needs no search: the two lists hold the same calls,
// the clocks agree to a millisecond, and the ends agree, too. No shift of one list against the
// other could score better. Returns nullopt in all other cases.
std::optional<Nanos> evident_offset(const Items& a, const Items& b, Nanos expected) {
  constexpr double kClose = 0.9;
  if (a.size() != b.size()) return std::nullopt;
  std::vector<Nanos> differences;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!compatible(a[i], b[i])) return std::nullopt;
    differences.push_back(a[i].end - b[i].end);
  }
  const Nanos offset = median(differences);
  if (std::abs(offset - expected) > kMillisecond) return std::nullopt;
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += closeness(a[i].end - b[i].end - offset);
  if (sum < kClose * static_cast<double>(a.size())) return std::nullopt;
  return offset;
}

Nanos find_offset(const Items& a, const Items& b, const std::optional<SequencePrior>& prior) {
  if (const auto offset = evident_offset(a, b, prior ? prior->offset : 0)) return *offset;
  Items by_end = b;
  std::stable_sort(by_end.begin(), by_end.end(),
                   [](const SequenceItem& x, const SequenceItem& y) { return x.end < y.end; });
  std::vector<Nanos> candidates = candidate_offsets(a, b);
  if (prior) {
    std::erase_if(candidates,
                  [&](Nanos c) { return std::abs(c - prior->offset) > prior->tolerance; });
    candidates.push_back(prior->offset);
  } else {
    candidates.push_back(0);
  }
  std::sort(candidates.begin(), candidates.end());
  candidates.erase(std::unique(candidates.begin(), candidates.end()), candidates.end());

  // Score all candidates on about 24 items. Score the best 200 candidates on about 128 items, and
  // then the best 12 on all items. This keeps the search near-linear in the length of the lists.
  std::vector<std::pair<double, Nanos>> ranked;
  for (const Nanos c : candidates) ranked.emplace_back(0, c);
  for (const auto& [sampled, kept] : {std::pair<std::size_t, std::size_t>{24, 200}, {128, 12}}) {
    const std::size_t step = std::max<std::size_t>(1, a.size() / sampled);
    for (auto& [score, c] : ranked) score = -agreement(a, by_end, c, step);
    std::sort(ranked.begin(), ranked.end());
    if (ranked.size() > kept) ranked.resize(kept);
  }
  const Nanos expected = prior ? prior->offset : 0;
  Nanos best = ranked.front().second;
  double best_score = -1;
  for (const auto& [coarse, c] : ranked) {
    const double score = agreement(a, by_end, c, 1);
    const bool tie = std::abs(score - best_score) <= 0.01 * best_score;
    const bool nearer = std::abs(c - expected) + kMillisecond < std::abs(best - expected);
    if (tie ? nearer : score > best_score) {
      best = c;
      best_score = score;
    }
  }
  return best;
}

// The two parts of the score of a pair in best_path(): `order` for each pair, `time` for ends that
// agree.
struct Gains {
  double order;
  double time;
};

// The table of the dynamic programming. Row i has the columns [low[i], high[i]).
struct Table {
  enum Move : std::uint8_t { kSkipA, kSkipB, kTake };

  std::vector<std::size_t> low;
  std::vector<std::size_t> high;
  std::vector<std::size_t> row_start;  // index of each row in `moves`
  std::vector<std::uint8_t> moves;     // the best move into each cell

  std::uint8_t& move(std::size_t i, std::size_t j) { return moves[row_start[i] + (j - low[i])]; }
  std::uint8_t move(std::size_t i, std::size_t j) const {
    return moves[row_start[i] + (j - low[i])];
  }
};

// Makes the full table if it is small enough, else a band. The band follows the item of `b` that
// ends nearest to a[i]. Both limits of the band never decrease; trace_back() relies on this.
Table make_table(const Items& a, const Items& b, const std::vector<Nanos>& shift) {
  const std::size_t n = a.size();
  const std::size_t m = b.size();
  Table table;
  table.low.assign(n, 0);
  table.high.assign(n, m);
  if (n * m > kMaxCells) {
    std::size_t centre = 0;
    for (std::size_t i = 0; i < n; ++i) {
      while (centre + 1 < m && b[centre].end + shift[i] < a[i].end) ++centre;
      table.low[i] = centre > kBand ? centre - kBand : 0;
      table.high[i] = std::min(m, centre + kBand);
      if (i > 0) {
        table.low[i] = std::max(table.low[i], table.low[i - 1]);
        table.high[i] = std::max(table.high[i], table.high[i - 1]);
      }
    }
  }
  table.row_start.assign(n + 1, 0);
  for (std::size_t i = 0; i < n; ++i) {
    table.row_start[i + 1] = table.row_start[i] + (table.high[i] - table.low[i]);
  }
  table.moves.resize(table.row_start[n]);
  return table;
}

// Returns the score of a pair of compatible items. A known equal size counts a little more than an
// unknown size. An equal number outweighs any agreement of ends.
double pair_gain(const SequenceItem& a, const SequenceItem& b, Nanos shift, const Gains& gains) {
  double gain = gains.order + gains.time * closeness(a.end - b.end - shift);
  if (a.bytes >= 0 && a.bytes == b.bytes) gain += 0.1;
  if (a.sequence >= 0 && a.sequence == b.sequence) gain += 4;
  return gain;
}

// Fills the moves of the table and returns the best score. One byte per cell is kept for the
// traceback; the scores need one row only.
double fill_table(const Items& a, const Items& b, const std::vector<Nanos>& shift,
                  const Gains& gains, Table& table) {
  const std::vector<std::size_t>& low = table.low;
  const std::vector<std::size_t>& high = table.high;
  // value[j] is the best score of a[..i] against b[..j). It is updated in place, row by row. It
  // never decreases with j, so beyond the band of a row it has the value at the band's edge.
  std::vector<double> value(b.size() + 1, 0);
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (i > 0) {
      for (std::size_t j = high[i - 1] + 1; j <= high[i]; ++j) value[j] = value[high[i - 1]];
    }
    double diagonal = value[low[i]];
    for (std::size_t j = low[i]; j < high[i]; ++j) {
      const double above = value[j + 1];
      double best = above;
      std::uint8_t how = Table::kSkipA;
      if (value[j] > best) {
        best = value[j];
        how = Table::kSkipB;
      }
      if (compatible(a[i], b[j])) {
        const double taken = diagonal + pair_gain(a[i], b[j], shift[i], gains);
        if (taken > best) {
          best = taken;
          how = Table::kTake;
        }
      }
      value[j + 1] = best;
      diagonal = above;
      table.move(i, j) = how;
    }
  }
  return value[high.back()];
}

// Follows the moves back from the last cell. Outside of the band, it moves towards the band.
std::vector<Pair> trace_back(const Table& table, std::size_t n, std::size_t m) {
  std::vector<Pair> pairs;
  std::size_t i = n;
  std::size_t j = m;
  while (i > 0 && j > 0) {
    if (j > table.high[i - 1]) {
      --j;
      continue;
    }
    if (j <= table.low[i - 1]) {
      --i;
      continue;
    }
    const std::uint8_t how = table.move(i - 1, j - 1);
    if (how == Table::kTake) {
      pairs.emplace_back(static_cast<std::uint32_t>(i - 1), static_cast<std::uint32_t>(j - 1));
      --i;
      --j;
    } else if (how == Table::kSkipA) {
      --i;
    } else {
      --j;
    }
  }
  std::reverse(pairs.begin(), pairs.end());
  return pairs;
}

// Finds a longest common subsequence of `a` and `b`, weighted by the agreement of ends. `shift[i]`
// is the offset near a[i]. Takes time and memory in proportion to the cells of the table.
std::vector<Pair> best_path(const Items& a, const Items& b, const std::vector<Nanos>& shift,
                            const Gains& gains, double& total) {
  Table table = make_table(a, b, shift);
  total = fill_table(a, b, shift, gains, table);
  return trace_back(table, a.size(), b.size());
}

// Returns the offset near each pair: the median over 15 neighbouring pairs. It follows drift and
// jumps of the clock, but not single outliers.
std::vector<Nanos> running_offset(const Items& a, const Items& b, const std::vector<Pair>& pairs) {
  constexpr std::size_t kHalf = 7;
  std::vector<Nanos> result;
  std::vector<Nanos> window;
  for (std::size_t k = 0; k < pairs.size(); ++k) {
    window.clear();
    const std::size_t from = k > kHalf ? k - kHalf : 0;
    for (std::size_t l = from; l < std::min(pairs.size(), k + kHalf + 1); ++l) {
      window.push_back(a[pairs[l].first].end - b[pairs[l].second].end);
    }
    result.push_back(median(window));
  }
  return result;
}

// Returns a robust standard deviation of the ends about the running offset: 1.4826 times the median
// absolute deviation. This is the standard deviation if the residuals are normally distributed.
Nanos spread_about(const Items& a, const Items& b, const SequenceMatch& match) {
  std::vector<Nanos> residuals;
  for (std::size_t k = 0; k < match.pairs.size(); ++k) {
    const auto [i, j] = match.pairs[k];
    residuals.push_back(std::abs(a[i].end - b[j].end - match.offset[k]));
  }
  if (residuals.empty()) return 0;
  return static_cast<Nanos>(1.4826 * static_cast<double>(median(residuals)));
}

// Whether every item has a number and the numbers ascend. If so, the numbers alone decide.
bool numbered(const Items& items) {
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (items[i].sequence < 0) return false;
    if (i > 0 && items[i].sequence <= items[i - 1].sequence) return false;
  }
  return true;
}

std::vector<Pair> by_number(const Items& a, const Items& b) {
  std::vector<Pair> pairs;
  std::size_t j = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    while (j < b.size() && b[j].sequence < a[i].sequence) ++j;
    if (j < b.size() && b[j].sequence == a[i].sequence) {
      pairs.emplace_back(static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(j));
    }
  }
  return pairs;
}

bool has_hole(const std::vector<Pair>& pairs) {
  for (std::size_t k = 1; k < pairs.size(); ++k) {
    if (pairs[k] != Pair(pairs[k - 1].first + 1, pairs[k - 1].second + 1)) return true;
  }
  return false;
}

// Finds the best pairs with the offsets `shift` and the gains `first`. Then finds them again, with
// the offset that was found near each item and the gains `then`.
SequenceMatch refine(const Items& a, const Items& b, std::vector<Nanos> shift, const Gains& first,
                     const Gains& then) {
  SequenceMatch match;
  for (int round = 0; round < 2; ++round) {
    match.pairs = best_path(a, b, shift, round == 0 ? first : then, match.score);
    if (match.pairs.empty()) return match;
    match.offset = running_offset(a, b, match.pairs);
    std::size_t k = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      while (k + 1 < match.pairs.size() && match.pairs[k].first < i) ++k;
      shift[i] = match.offset[k];
    }
  }
  return match;
}

// Drops pairs whose ends do not agree (see SequenceOptions::doubtful). Such a pair stays only if
// the items just before and just after it form pairs, too.
void drop_doubtful(const Items& a, const Items& b, Nanos doubtful, SequenceMatch& match) {
  const Nanos limit = std::max(20 * std::max(match.spread, kSpreadFloor), doubtful);
  std::vector<bool> keep(match.pairs.size(), true);
  for (std::size_t k = 0; k < match.pairs.size(); ++k) {
    const auto [i, j] = match.pairs[k];
    if (a[i].sequence >= 0 && a[i].sequence == b[j].sequence) continue;
    if (std::abs(a[i].end - b[j].end - match.offset[k]) <= limit) continue;
    const bool before = k > 0 && match.pairs[k - 1] == Pair(i - 1, j - 1);
    const bool after = k + 1 < match.pairs.size() && match.pairs[k + 1] == Pair(i + 1, j + 1);
    keep[k] = before && after;
  }
  std::size_t kept = 0;
  for (std::size_t k = 0; k < match.pairs.size(); ++k) {
    if (!keep[k]) continue;
    match.pairs[kept] = match.pairs[k];
    match.offset[kept] = match.offset[k];
    ++kept;
  }
  match.pairs.resize(kept);
  match.offset.resize(kept);
}

}  // namespace

SequenceMatch align_sequences(const std::vector<SequenceItem>& a,
                              const std::vector<SequenceItem>& b,
                              const std::optional<SequencePrior>& prior,
                              const SequenceOptions& options) {
  SequenceMatch match;
  if (a.empty() || b.empty()) return match;
  if (numbered(a) && numbered(b)) {
    match.pairs = by_number(a, b);
    match.score = static_cast<double>(match.pairs.size());
    if (match.pairs.empty()) return match;
    match.offset = running_offset(a, b, match.pairs);
    match.spread = spread_about(a, b, match);
    return match;
  }
  const Nanos offset = find_offset(a, b, prior);
  const Gains gains = {options.order_gain, 2};
  match = refine(a, b, std::vector<Nanos>(a.size(), offset), gains, gains);
  if (has_hole(match.pairs)) {
    // A clock that was set during the recording looks like lost calls. Try the other explanation:
    // pair the calls in order first, whatever their ends, and let the running offset follow the
    // jump. If the ends then agree clearly better (by 2 %), no calls were lost.
    const Gains in_order = {1, 0.01};
    SequenceMatch other = refine(a, b, std::vector<Nanos>(a.size(), offset), in_order, gains);
    if (other.score > 1.02 * match.score) match = std::move(other);
  }
  if (match.pairs.empty()) return match;
  match.spread = spread_about(a, b, match);
  drop_doubtful(a, b, options.doubtful, match);
  return match;
}

}  // namespace weft::trace
