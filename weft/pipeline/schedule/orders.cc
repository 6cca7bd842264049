// SPDX-License-Identifier: Apache-2.0
#include "weft/pipeline/schedule/orders.h"

#include <algorithm>
#include <limits>

namespace weft::pipeline {
namespace {

constexpr Nanos kDead = -1;
constexpr Nanos kNoTime = std::numeric_limits<Nanos>::max() / 4;

/// Counts up in the order of the states, skipping counts that break precedence or memory.
class States {
 public:
  States(const Chains& chains, const Machine& machine)
      : chains_(chains), machine_(machine), count_(machine.chains.size()) {
    low_.assign(count_.size(), 0);
    high_.assign(count_.size(), chains.length);
  }

  /// All of them, as long as they are no more than `most`.
  bool all(std::vector<Micro>& out, std::size_t most) {
    most_ = most;
    return fill(out, 0, 0);
  }

  /// Those within `width` of `around` that have run as many ops.
  bool beside(std::vector<Micro>& out, const std::vector<Micro>& around, Micro width,
              std::size_t most) {
    most_ = most;
    level_ = 0;
    for (std::size_t i = 0; i < around.size(); ++i) {
      low_[i] = std::max(0, around[i] - width);
      high_[i] = std::min(chains_.length, around[i] + width);
      level_ += around[i];
    }
    return fill(out, 0, 0);
  }

 private:
  bool fill(std::vector<Micro>& out, std::size_t chain, Bytes held) {
    if (chain == count_.size()) {
      if (level_ > 0) return true;  // of another level
      if (machine_.memory_limit && held > *machine_.memory_limit) return true;
      out.insert(out.end(), count_.begin(), count_.end());
      return out.size() / count_.size() <= most_;
    }
    Micro most = high_[chain];
    for (const auto& [first, then] : machine_.precedence) {
      if (static_cast<std::size_t>(then) == chain) most = std::min(most, count_[first]);
    }
    if (level_ >= 0) most = std::min(most, level_);
    const Bytes change = chains_.chains[machine_.chains[chain]].memory;
    for (Micro k = low_[chain]; k <= most; ++k) {
      count_[chain] = k;
      if (level_ >= 0) level_ -= k;
      const bool more = fill(out, chain + 1, held + change * k);
      if (level_ >= 0) level_ += k;
      if (!more) return false;
    }
    return true;
  }

  const Chains& chains_;
  const Machine& machine_;
  std::size_t most_ = 0;
  Micro level_ = -1;  ///< ops still to be counted; -1: any number
  std::vector<Micro> count_, low_, high_;
};

}  // namespace

Windows::Windows(const Chains& chains, Nanos deadline) : length(chains.length) {
  release.assign(chains.chains.size() * static_cast<std::size_t>(length), 0);
  due.reserve(release.size());
  for (const Chain& chain : chains.chains) {
    due.insert(due.end(), static_cast<std::size_t>(length), deadline - chain.tail);
  }
}

std::optional<Orders> Orders::make(const Chains& chains, const Machine& machine, std::size_t most) {
  Orders orders;
  orders.width_ = machine.chains.size();
  if (orders.width_ == 0) {  // a device without stages: one state, no edge
    orders.width_ = 1;
    orders.counts_ = {0};
    orders.next_ = {-1};
    return orders;
  }
  if (!States(chains, machine).all(orders.counts_, most)) return std::nullopt;
  orders.connect();
  return orders;
}

std::optional<Orders> Orders::corridor(const Chains& chains, const Machine& machine,
                                       const std::vector<std::size_t>& path, Micro width,
                                       std::size_t most) {
  if (machine.chains.empty()) return make(chains, machine, 1);
  // All but one chain are free to differ: states around one op of the path, before any rule.
  double beside = 1;
  for (std::size_t i = 1; i < machine.chains.size(); ++i) beside *= 2 * width + 1;
  if (beside > static_cast<double>(most)) return std::nullopt;
  Orders orders;
  orders.width_ = machine.chains.size();
  std::vector<std::vector<Micro>> states;
  std::vector<Micro> around(orders.width_), near;
  States maker(chains, machine);
  for (std::size_t i = 0; i <= path.size(); ++i) {
    near.clear();
    if (!maker.beside(near, around, width, most)) return std::nullopt;
    for (std::size_t at = 0; at < near.size(); at += orders.width_) {
      const auto begin = near.begin() + static_cast<std::ptrdiff_t>(at);
      states.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(orders.width_));
    }
    if (states.size() > most) return std::nullopt;
    if (i < path.size()) ++around[path[i]];
  }
  std::sort(states.begin(), states.end());
  for (const auto& state : states) {
    orders.counts_.insert(orders.counts_.end(), state.begin(), state.end());
  }
  orders.connect();
  return orders;
}

/// Edges from each state to those with one op more. What follows by one chain comes in the order of
/// the states, so one pass finds all of it.
void Orders::connect() {
  const std::size_t width = width_;
  next_.assign(counts_.size(), -1);
  std::vector<Micro> wanted(width);
  const auto begin = [&](std::size_t state) {
    return counts_.begin() + static_cast<std::ptrdiff_t>(state * width);
  };
  for (std::size_t chain = 0; chain < width; ++chain) {
    std::size_t next = 0;
    for (std::size_t state = 0; state < size(); ++state) {
      std::copy_n(begin(state), width, wanted.begin());
      ++wanted[chain];
      while (next < size() && std::lexicographical_compare(begin(next), begin(next + 1),
                                                           wanted.begin(), wanted.end())) {
        ++next;
      }
      if (next < size() && std::equal(wanted.begin(), wanted.end(), begin(next))) {
        next_[state * width + chain] = static_cast<StateId>(next);
      }
    }
  }
}

Micro Orders::level(StateId state) const {
  Micro sum = 0;
  for (std::size_t chain = 0; chain < width_; ++chain) sum += count(state, chain);
  return sum;
}

bool Sweep::run(const Chains& chains, const Machine& machine, const Orders& orders,
                std::vector<StateId>& alive, Windows& windows) {
  if (machine.chains.empty()) return true;
  if (alive.empty() || alive.front() != 0 || alive.back() != orders.last()) return false;
  if (earliest_.size() < orders.size()) {
    earliest_.resize(orders.size(), kDead);
    latest_.resize(orders.size());
  }
  const auto length = static_cast<std::size_t>(windows.length);
  sides_.resize(machine.chains.size());
  for (std::size_t i = 0; i < sides_.size(); ++i) {
    const auto at = static_cast<std::ptrdiff_t>(windows.at(machine.chains[i], 0));
    Side& side = sides_[i];
    side.duration = chains.chains[machine.chains[i]].duration;
    side.release.assign(windows.release.begin() + at,
                        windows.release.begin() + at + windows.length);
    side.due.assign(windows.due.begin() + at, windows.due.begin() + at + windows.length);
    side.new_release.assign(length, kNoTime);
    side.new_due.assign(length, kDead);
  }
  visited_ += static_cast<std::int64_t>(alive.size() * sides_.size());
  for (const StateId state : alive) earliest_[state] = kNoTime;
  const bool possible = forwards(orders, alive) && backwards(orders, alive);
  std::size_t kept = 0;
  for (const StateId state : alive) {
    if (possible && earliest_[state] != kNoTime && latest_[state] != kDead) alive[kept++] = state;
    earliest_[state] = kDead;
  }
  if (!possible) return false;
  alive.resize(kept);
  for (std::size_t i = 0; i < sides_.size(); ++i) {
    const auto at = static_cast<std::ptrdiff_t>(windows.at(machine.chains[i], 0));
    std::copy(sides_[i].new_release.begin(), sides_[i].new_release.end(),
              windows.release.begin() + at);
    std::copy(sides_[i].new_due.begin(), sides_[i].new_due.end(), windows.due.begin() + at);
  }
  return true;
}

/// The earliest end of the ops of each state, over all ways to it.
bool Sweep::forwards(const Orders& orders, const std::vector<StateId>& alive) {
  earliest_[0] = 0;
  for (const StateId state : alive) {
    const Nanos now = earliest_[state];
    if (now == kNoTime) continue;
    for (std::size_t i = 0; i < sides_.size(); ++i) {
      const StateId next = orders.next(state, i);
      if (next < 0 || earliest_[next] == kDead) continue;
      const Micro k = orders.count(state, i);
      const Nanos end = std::max(now, sides_[i].release[k]) + sides_[i].duration;
      if (end <= sides_[i].due[k] && end < earliest_[next]) earliest_[next] = end;
    }
  }
  return earliest_[orders.last()] != kNoTime;
}

/// The latest time to be in each state and still end all that follows in time.
bool Sweep::backwards(const Orders& orders, const std::vector<StateId>& alive) {
  for (auto at = alive.rbegin(); at != alive.rend(); ++at) {
    const StateId state = *at;
    latest_[state] = state == orders.last() ? kNoTime : kDead;
    if (earliest_[state] == kNoTime) continue;
    for (std::size_t i = 0; i < sides_.size(); ++i) {
      const StateId next = orders.next(state, i);
      if (next < 0 || earliest_[next] == kDead || latest_[next] == kDead) continue;
      Side& side = sides_[i];
      const Micro k = orders.count(state, i);
      const Nanos end = std::min(latest_[next], side.due[k]);
      const Nanos start = std::max(earliest_[state], side.release[k]);
      if (start + side.duration > end) continue;
      latest_[state] = std::max(latest_[state], end - side.duration);
      side.new_release[k] = std::min(side.new_release[k], start);
      side.new_due[k] = std::max(side.new_due[k], end);
    }
  }
  return latest_[0] != kDead;
}

}  // namespace weft::pipeline
