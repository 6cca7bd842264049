// SPDX-License-Identifier: Apache-2.0
// This is PipeDream's dynamic program over ideals, the sets of layers before a cut
// (model/ideals.h). If there is only one level of machines, pipedream_flat.h solves it, because it
// can handle far more ideals. With several levels, Level computes for each pair of ideals the best
// time of the layers between them on all machines of the level. That table replaces the compute
// times on the next level. The last level needs only one row of its table.
//
// The stages are recovered from the outermost level inwards: each piece of a level is split again
// by the level below.
#include "weft/pipeline/rivals/pipedream.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "weft/pipeline/model/ideals.h"
#include "weft/pipeline/rivals/pipedream_flat.h"

namespace weft::pipeline {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr std::size_t kMostCells = 100'000'000;  ///< numbers in all tables: 800 MB

/// An ideal is a set of layers that may come before a cut, see ideals.h. Returns the number of
/// ideals up to which all tables stay below kMostCells.
std::size_t most_states(const Profile& profile, const std::vector<PipedreamLevel>& levels) {
  if (levels.size() == 1) {
    // Count numbers per ideal: the words of its bit set, about ten words for its sums and
    // predecessors, and the numbers of the search.
    const std::size_t words = (profile.layers.size() + 63) / 64;
    return kMostCells / (words + 10 + flat_numbers(levels[0].machines));
  }
  std::size_t squares = levels.size() + 1;
  for (const PipedreamLevel& level : levels) squares += static_cast<std::size_t>(level.machines);
  return static_cast<std::size_t>(
      std::sqrt(static_cast<double>(kMostCells) / static_cast<double>(squares)));
}

/// Nanoseconds for pairs of ideals. Row i, column j is the time of the layers that are in ideal j
/// but not in ideal i - 1; row 0 has all layers of ideal j. There is one more row than columns.
using Costs = std::vector<double>;

/// Solves one level of machines. `below` is the table of the level below, and `inside` is the
/// number of machines of that level. All times are in nanoseconds.
class Level {
 public:
  Level(const Ideals& ideals, const Costs& below, PipedreamLevel level, std::int32_t inside)
      : ideals_(ideals),
        below_(below),
        count_(ideals.size()),
        machines_(level.machines),
        inside_(inside),
        per_byte_(1e9 / static_cast<double>(level.bandwidth)) {
    make_stages();
  }

  /// Row `row` of the table of this level: for each ideal the best time on all machines.
  std::vector<double> solve_row(std::size_t row) {
    best_.assign(static_cast<std::size_t>(machines_) * count_, kNever);
    const std::size_t first = row == 0 ? 0 : row;
    for (std::size_t j = first; j < count_; ++j) {
      if (below_[row * count_ + j] == kNever) continue;
      for (std::int32_t m = 1; m <= machines_; ++m) best(m)[j] = single(row, j, m);
    }
    for (std::size_t k = first; k < count_; ++k) {
      if (best(1)[k] == kNever) continue;
      for (std::int32_t last = 1; last < machines_; ++last) {
        const double* stage = stages_of(last, k);
        for (std::int32_t m = last + 1; m <= machines_; ++m) {
          const double before = best(m - last)[k];
          double* out = best(m);
          for (std::size_t j = k + 1; j < count_; ++j) {
            out[j] = std::min(out[j], std::max(before, stage[j]));
          }
        }
      }
    }
    return {best(machines_), best(machines_) + count_};
  }

  /// One stage on this level: the layers of the table entry at row `row` and column `to`.
  struct Piece {
    std::size_t row, to;
    std::int32_t replicas;
  };
  /// The stages that give the value of solve_row(row) for ideal j.
  std::vector<Piece> pieces(std::size_t row, std::size_t j) {
    solve_row(row);
    std::vector<Piece> found;
    std::int32_t m = machines_;
    while (best(m)[j] != single(row, j, m)) {
      const auto [k, last] = split_of(row, j, m);
      found.push_back({k + 1, j, last});
      j = k;
      m -= last;
    }
    found.push_back({row, j, m});
    std::reverse(found.begin(), found.end());
    return found;
  }

 private:
  double* best(std::int32_t m) { return best_.data() + static_cast<std::size_t>(m - 1) * count_; }
  const double* stages_of(std::int32_t replicas, std::size_t k) const {
    return stages_.data() + (static_cast<std::size_t>(replicas - 1) * count_ + k) * count_;
  }

  /// The time of all layers of a table entry as one stage on m machines.
  double single(std::size_t row, std::size_t j, std::int32_t m) const {
    const Bytes before = row == 0 ? 0 : ideals_.parameters[row - 1];
    const auto parameters = static_cast<double>(ideals_.parameters[j] - before);
    const double sync = 4.0 * (m - 1) * parameters * per_byte_ / m / inside_;
    return (below_[row * count_ + j] + sync) / m;
  }

  /// The time of a later stage with the layers between ideals k and j, including the transfers at
  /// both of its cuts.
  double stage(std::size_t k, std::size_t j, std::int32_t m) const {
    const auto parameters = static_cast<double>(ideals_.parameters[j] - ideals_.parameters[k]);
    const double time =
        (below_[(k + 1) * count_ + j] + 4.0 * (m - 1) * parameters * per_byte_ / m) / m;
    Bytes sent = ideals_.output[k];
    if (j + 1 < count_) sent = std::max(sent, ideals_.output[j]);
    return std::max(time, 2.0 * static_cast<double>(sent) * per_byte_ / m);
  }

  /// Tabulates stage() once, because every row reads it for all pairs of ideals.
  void make_stages() {
    stages_.assign(static_cast<std::size_t>(machines_ - 1) * count_ * count_, kNever);
    for (std::size_t k = 0; k < count_; ++k) {
      for (std::size_t j = k + 1; j < count_; ++j) {
        if (below_[(k + 1) * count_ + j] == kNever) continue;
        for (std::int32_t m = 1; m < machines_; ++m) {
          stages_[(static_cast<std::size_t>(m - 1) * count_ + k) * count_ + j] = stage(k, j, m);
        }
      }
    }
  }

  /// The last cut, and the replicas of the last stage, that led to the best value of ideal j.
  std::pair<std::size_t, std::int32_t> split_of(std::size_t row, std::size_t j, std::int32_t m) {
    for (std::size_t k = row; k < j; ++k) {
      for (std::int32_t last = 1; last < m; ++last) {
        if (std::max(best(m - last)[k], stages_of(last, k)[j]) == best(m)[j]) return {k, last};
      }
    }
    return {row, 1};
  }

  const Ideals& ideals_;
  const Costs& below_;
  std::size_t count_;
  std::int32_t machines_;
  double inside_;
  double per_byte_;
  Costs stages_;  ///< stage() by replicas, ideal k and ideal j
  Costs best_;    ///< of the current row, by machines used and ideal
};

/// The table below the innermost level: compute times on one machine.
Costs compute_times(const Ideals& ideals) {
  const std::size_t count = ideals.size();
  Costs times((count + 1) * count, kNever);
  for (std::size_t j = 0; j < count; ++j) {
    times[j] = static_cast<double>(ideals.compute[j]);
    for (std::size_t i = 0; i < j; ++i) {
      if (!ideals.within(i, j)) continue;
      times[(i + 1) * count + j] = static_cast<double>(ideals.compute[j] - ideals.compute[i]);
    }
  }
  return times;
}

/// The layers of the table entry at row `row` and column `to`.
std::vector<std::int32_t> layers_between(const Ideals& ideals, std::size_t row, std::size_t to) {
  std::vector<std::int32_t> layers;
  for (std::size_t w = 0; w < ideals.words; ++w) {
    const std::uint64_t before = row == 0 ? 0 : ideals.set(row - 1)[w];
    for (std::uint64_t bits = ideals.set(to)[w] & ~before; bits != 0; bits &= bits - 1) {
      layers.push_back(static_cast<std::int32_t>(w * 64 + std::countr_zero(bits)));
    }
  }
  return layers;
}

}  // namespace

Profile without_inputs(const Profile& profile, std::vector<std::int32_t>& kept) {
  std::vector<std::int32_t> in(profile.layers.size(), 0), out(profile.layers.size(), 0);
  for (const LayerEdge& edge : profile.edges) {
    ++in[edge.to];
    ++out[edge.from];
  }
  Profile rest;
  rest.name = profile.name;
  kept.clear();
  std::vector<std::int32_t> index(profile.layers.size(), -1);
  std::vector<bool> input(profile.layers.size(), false);
  for (std::size_t i = 0; i < profile.layers.size(); ++i) {
    input[i] = in[i] == 0 && profile.layers[i].name.starts_with("Input");
  }
  for (std::size_t i = 0; i < profile.layers.size(); ++i) {
    if (input[i] || (out[i] == 0 && profile.layers[i].name.starts_with("__getitem__"))) continue;
    index[i] = static_cast<std::int32_t>(rest.layers.size());
    rest.layers.push_back(profile.layers[i]);
    kept.push_back(static_cast<std::int32_t>(i));
  }
  for (const LayerEdge& edge : profile.edges) {
    if (index[edge.from] < 0 || index[edge.to] < 0) continue;
    rest.edges.push_back({index[edge.from], index[edge.to]});
  }
  return rest;
}

Result<PipedreamAnswer> solve_pipedream(const Profile& profile,
                                        const std::vector<PipedreamLevel>& levels) {
  std::vector<std::int32_t> kept;
  const Profile rest = without_inputs(profile, kept);
  if (rest.layers.empty()) {
    return fail(ErrorCode::kBadInput, "the profile has no layers other than inputs", profile.name);
  }
  WEFT_ASSIGN(const Ideals ideals, all_ideals(rest, most_states(rest, levels)));
  const std::size_t count = ideals.size();
  PipedreamAnswer answer;
  answer.states = count;
  const auto add_stage = [&](std::size_t row, std::size_t to, std::int32_t replicas) {
    PipedreamStage stage{layers_between(ideals, row, to), replicas};
    for (std::int32_t& layer : stage.layers) layer = kept[layer];
    answer.stages.push_back(std::move(stage));
  };
  if (levels.size() == 1) {
    const FlatPlan plan = solve_flat(ideals, levels[0]);
    answer.bottleneck = std::llround(plan.bottleneck);
    for (const FlatStage& stage : plan.stages) {
      add_stage(static_cast<std::size_t>(stage.from + 1), stage.to, stage.replicas);
    }
    return answer;
  }
  std::vector<Costs> tables{compute_times(ideals)};
  std::vector<Level> solvers;
  tables.reserve(levels.size() + 1);
  double bottleneck = 0;
  for (std::size_t l = 0; l < levels.size(); ++l) {
    solvers.emplace_back(ideals, tables.back(), levels[l], l == 0 ? 1 : levels[l - 1].machines);
    if (l + 1 == levels.size()) {
      bottleneck = solvers.back().solve_row(0).back();
      break;
    }
    Costs next;
    next.reserve((count + 1) * count);
    for (std::size_t row = 0; row <= count; ++row) {
      const std::vector<double> values = solvers.back().solve_row(row);
      next.insert(next.end(), values.begin(), values.end());
    }
    tables.push_back(std::move(next));
  }
  answer.bottleneck = std::llround(bottleneck);
  std::vector<Level::Piece> pieces{{0, count - 1, 1}};
  for (std::size_t l = levels.size(); l-- > 0;) {
    std::vector<Level::Piece> finer;
    for (const Level::Piece& piece : pieces) {
      for (const Level::Piece& part : solvers[l].pieces(piece.row, piece.to)) {
        finer.push_back({part.row, part.to, part.replicas * piece.replicas});
      }
    }
    pieces = std::move(finer);
  }
  for (const Level::Piece& piece : pieces) add_stage(piece.row, piece.to, piece.replicas);
  return answer;
}

}  // namespace weft::pipeline
