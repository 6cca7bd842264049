// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/replay.h"

#include <algorithm>
#include <map>
#include <string>

#include "weft/base/check.h"

namespace weft::reshard {
namespace {

std::string text_of(const Box& box) {
  std::string text = "[";
  for (const Interval& side : box) {
    text +=
        (text.size() > 1 ? ", " : "") + std::to_string(side.low) + ":" + std::to_string(side.high);
  }
  return text + "]";
}

tl::unexpected<Error> wrong(std::string what) {
  return fail(ErrorCode::kInfeasible, std::move(what));
}

/// The cells: positions of the edges in each dimension.
class Cells {
 public:
  Cells(const Problem& problem, const std::vector<Round>& rounds, const Layout& last)
      : edges_(problem.shape.size()) {
    for (const Layout* layout : {&problem.source, &problem.target, &last}) {
      for (std::size_t i = 0; i < edges_.size(); ++i) {
        for (const Strips& slot : layout->cuts[i]->slots) {
          for (const Interval& strip : slot) add(i, strip);
        }
      }
    }
    for (const Round& round : rounds) {
      for (const Transfer& transfer : round) {
        for (std::size_t i = 0; i < edges_.size(); ++i) add(i, transfer.box[i]);
      }
      tidy();
    }
    for (std::size_t i = 0; i < edges_.size(); ++i) add(i, {0, problem.shape[i]});
    tidy();
  }

  /// take(cell) for every cell of a box whose sides are edges.
  template <class Take>
  void for_each(const Box& box, const Take& take) const {
    std::vector<std::int64_t> low(box.size()), high(box.size()), at;
    for (std::size_t i = 0; i < box.size(); ++i) {
      low[i] = index(i, box[i].low);
      high[i] = index(i, box[i].high);
      if (low[i] >= high[i]) return;
    }
    at = low;
    for (;;) {
      std::int64_t cell = 0;
      for (std::size_t i = 0; i < box.size(); ++i) {
        cell = cell * (static_cast<std::int64_t>(edges_[i].size()) - 1) + at[i];
      }
      take(cell);
      std::size_t dim = box.size();
      while (dim > 0 && ++at[dim - 1] == high[dim - 1]) {
        --dim;
        at[dim] = low[dim];
      }
      if (dim == 0) return;
    }
  }

 private:
  void add(std::size_t dim, const Interval& side) {
    edges_[dim].push_back(side.low);
    edges_[dim].push_back(side.high);
  }
  void tidy() {
    for (auto& edges : edges_) {
      std::sort(edges.begin(), edges.end());
      edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
    }
  }
  std::int64_t index(std::size_t dim, std::int64_t position) const {
    return std::lower_bound(edges_[dim].begin(), edges_[dim].end(), position) - edges_[dim].begin();
  }

  std::vector<std::vector<std::int64_t>> edges_;
};

/// Sets of summands, as bits, for the cells that each device ever has to do with: thousands of
/// devices with a few cells each must not cost devices times cells.
class Holdings {
 public:
  /// `touched`: the cells of each device, in any order, repeated or not.
  Holdings(std::vector<std::vector<std::int64_t>> touched, std::size_t summands)
      : cells_(std::move(touched)), words_((summands + 63) / 64), summands_(summands) {
    std::size_t total = 0;
    for (std::vector<std::int64_t>& cells : cells_) {
      std::sort(cells.begin(), cells.end());
      cells.erase(std::unique(cells.begin(), cells.end()), cells.end());
      first_.push_back(total);
      total += cells.size();
    }
    bits_.assign(total * words_, 0);
  }

  /// The cell must be one of those that the device was said to touch.
  std::uint64_t* at(Device device, std::int64_t cell) {
    const std::vector<std::int64_t>& cells = cells_[device];
    const auto found = std::lower_bound(cells.begin(), cells.end(), cell);
    WEFT_CHECK(found != cells.end() && *found == cell);
    return &bits_[(first_[device] + static_cast<std::size_t>(found - cells.begin())) * words_];
  }
  void insert(Device device, std::int64_t cell, std::size_t summand) {
    at(device, cell)[summand / 64] |= std::uint64_t{1} << (summand % 64);
  }
  bool empty(const std::uint64_t* set) const {
    return std::all_of(set, set + words_, [](std::uint64_t word) { return word == 0; });
  }
  /// False where one of them is there already.
  static bool unite(std::uint64_t* into, const std::uint64_t* more, std::size_t words) {
    for (std::size_t i = 0; i < words; ++i) {
      if ((into[i] & more[i]) != 0) return false;
      into[i] |= more[i];
    }
    return true;
  }
  bool complete(const std::uint64_t* set) const {
    std::size_t count = 0;
    for (std::size_t i = 0; i < words_; ++i) {
      count += static_cast<std::size_t>(__builtin_popcountll(set[i]));
    }
    return count == summands_;
  }
  std::size_t words() const { return words_; }

 private:
  std::vector<std::vector<std::int64_t>> cells_;
  std::vector<std::size_t> first_;  ///< of the cells of each device, among all
  std::size_t words_, summands_;
  std::vector<std::uint64_t> bits_;
};

std::vector<std::vector<std::int64_t>> touched_cells(const Problem& problem,
                                                     const std::vector<Round>& rounds,
                                                     const Cells& cells) {
  std::vector<std::vector<std::int64_t>> touched(problem.source.devices());
  const auto touch = [&](Device device, const Box& box) {
    cells.for_each(box, [&](std::int64_t cell) { touched[device].push_back(cell); });
  };
  for (const Layout* layout : {&problem.source, &problem.target}) {
    for (Part part = 0; part < layout->parts(); ++part) {
      if (!layout->holds(part)) continue;
      for_each_box(layout->region(part),
                   [&](const Box& box) { touch(layout->device_of(part), box); });
    }
  }
  for (const Round& round : rounds) {
    for (const Transfer& transfer : round) {
      touch(transfer.from, transfer.box);
      touch(transfer.to, transfer.box);
    }
  }
  return touched;
}

Status apply(const Round& round, const Cells& cells, Holdings& held, std::size_t number) {
  // Everything is sent as it was before the round.
  std::vector<std::uint64_t> sent;
  for (const Transfer& transfer : round) {
    bool there = true;
    cells.for_each(transfer.box, [&](std::int64_t cell) {
      const std::uint64_t* set = held.at(transfer.from, cell);
      there = there && !held.empty(set);
      sent.insert(sent.end(), set, set + held.words());
    });
    if (!there) {
      return wrong("round " + std::to_string(number) + ": device " + std::to_string(transfer.from) +
                   " sends " + text_of(transfer.box) + ", which it does not hold");
    }
  }
  for (const bool add : {false, true}) {
    std::size_t at = 0;
    for (const Transfer& transfer : round) {
      bool apart = true;
      cells.for_each(transfer.box, [&](std::int64_t cell) {
        std::uint64_t* into = held.at(transfer.to, cell);
        if (transfer.add == add) {
          if (!add) std::fill(into, into + held.words(), 0);
          apart = Holdings::unite(into, &sent[at], held.words()) && apart;
        }
        at += held.words();
      });
      if (!apart) {
        return wrong("round " + std::to_string(number) + ": device " + std::to_string(transfer.to) +
                     " adds a summand of " + text_of(transfer.box) + " twice");
      }
    }
  }
  return {};
}

/// Parts of devices that add up to their region; those of one device where it is not partial.
std::map<std::int32_t, std::vector<Part>> teams(const Layout& target) {
  std::map<std::int32_t, std::vector<Part>> teams;
  for (Part part = 0; part < target.parts(); ++part) {
    const Device device = target.device_of(part);
    if (target.holds(part)) teams[target.partial() ? target.team[device] : device].push_back(part);
  }
  return teams;
}

/// The boxes of what a device has of a part of the target, in `last`.
template <class Take>
void for_each_contribution(const Layout& target, Part part, const Layout& last, const Take& take) {
  for (Part mine = 0; mine < last.parts(); ++mine) {
    if (last.device_of(mine) != target.device_of(part) || !last.holds(mine)) continue;
    std::vector<Strips> dims;
    for (std::size_t i = 0; i < target.cuts.size(); ++i) {
      dims.push_back(intersect(target.cuts[i]->piece(part), last.cuts[i]->piece(mine)));
    }
    for_each_box(dims, take);
  }
}

}  // namespace

Status replay(const Problem& problem, const std::vector<Round>& rounds, const Layout& last) {
  const Cells cells(problem, rounds, last);
  const Layout &source = problem.source, &target = problem.target;
  const std::size_t summands = source.group_of_summand.size();
  Holdings held(touched_cells(problem, rounds, cells), summands);
  for (Part part = 0; part < source.parts(); ++part) {
    if (!source.holds(part)) continue;
    for_each_box(source.region(part), [&](const Box& box) {
      cells.for_each(box, [&](std::int64_t cell) {
        for (std::size_t i = 0; i < summands; ++i) {
          if (source.group_of_summand[i] == source.group[part]) {
            held.insert(source.device_of(part), cell, i);
          }
        }
      });
    });
  }
  for (std::size_t number = 0; number < rounds.size(); ++number) {
    WEFT_TRY(apply(rounds[number], cells, held, number));
  }
  for (const auto& [number, team] : teams(target)) {
    // What the team has of each cell that it shall have.
    std::map<std::int64_t, std::vector<std::uint64_t>> sums;
    bool once = true;
    for (const Part part : team) {
      for_each_box(target.region(part), [&](const Box& box) {
        cells.for_each(box, [&](std::int64_t cell) { sums[cell].resize(held.words()); });
      });
      const auto add = [&](const Box& box) {
        cells.for_each(box, [&](std::int64_t cell) {
          once = Holdings::unite(sums[cell].data(), held.at(target.device_of(part), cell),
                                 held.words()) &&
                 once;
        });
      };
      if (target.partial()) {
        for_each_contribution(target, part, last, add);
      } else {
        for_each_box(target.region(part), add);
      }
    }
    const bool whole = std::all_of(sums.begin(), sums.end(), [&](const auto& sum) {
      return held.complete(sum.second.data());
    });
    if (!once || !whole) {
      return wrong("device " + std::to_string(target.device_of(team.front())) +
                   " and those it adds up with " +
                   (once ? "lack a part of the target" : "count a summand twice"));
    }
  }
  return {};
}

}  // namespace weft::reshard
