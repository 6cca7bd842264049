// SPDX-License-Identifier: Apache-2.0
#include "weft/pipeline/schedule/orders.h"

#include <algorithm>
#include <limits>

namespace weft::pipeline {
namespace {

constexpr Nanos kDead = -1;
constexpr Nanos kNoTime = std::numeric_limits<Nanos>::max() / 4;

/// A state says how many ops of each chain have run. Enumerates the states of a machine in sorted
/// order, without those that break precedence or the memory limit.
class States {
 public:
  States(const Chains& chains, const Machine& machine)
      : chains_(chains), machine_(machine), count_(machine.chains.size()) {
    low_.assign(count_.size(), 0);
    high_.assign(count_.size(), chains.length);
  }

  /// Appends all states. Returns false if there are more than `most`.
  bool all(std::vector<Micro>& out, std::size_t most) {
    most_ = most;
    return fill(out, 0, 0);
  }

  /// Appends the states that have run as many ops as `around` and differ from it by at most `width`
  /// ops in each chain. Returns false if there are more than `most`.
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
      if (level_ > 0) return true;  // this state has run fewer ops than `around`
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
  Micro level_ = -1;  ///< ops that the remaining chains must have run; -1: any number
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
  // An upper limit for the states near one op of the path: all chains but one can differ
  // independently of each other, and the number of ops then determines the last chain. Refuse
  // before the enumeration takes long.
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

/// Finds the edges from each state to the states with one op more. States are sorted, and adding
/// one op of the same chain to each keeps them sorted, so one merge-like pass per chain finds all
/// edges.
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
  chain_windows_.resize(machine.chains.size());
  for (std::size_t i = 0; i < chain_windows_.size(); ++i) {
    const auto at = static_cast<std::ptrdiff_t>(windows.at(machine.chains[i], 0));
    ChainWindows& chain = chain_windows_[i];
    chain.duration = chains.chains[machine.chains[i]].duration;
    chain.release.assign(windows.release.begin() + at,
                         windows.release.begin() + at + windows.length);
    chain.due.assign(windows.due.begin() + at, windows.due.begin() + at + windows.length);
    chain.new_release.assign(length, kNoTime);
    chain.new_due.assign(length, kDead);
  }
  visited_ += static_cast<std::int64_t>(alive.size() * chain_windows_.size());
  for (const StateId state : alive) earliest_[state] = kNoTime;
  const bool possible = forwards(orders, alive) && backwards(orders, alive);
  std::size_t kept = 0;
  for (const StateId state : alive) {
    if (possible && earliest_[state] != kNoTime && latest_[state] != kDead) alive[kept++] = state;
    earliest_[state] = kDead;
  }
  if (!possible) return false;
  alive.resize(kept);
  for (std::size_t i = 0; i < chain_windows_.size(); ++i) {
    const auto at = static_cast<std::ptrdiff_t>(windows.at(machine.chains[i], 0));
    std::copy(chain_windows_[i].new_release.begin(), chain_windows_[i].new_release.end(),
              windows.release.begin() + at);
    std::copy(chain_windows_[i].new_due.begin(), chain_windows_[i].new_due.end(),
              windows.due.begin() + at);
  }
  return true;
}

/// Computes, for each state, the earliest time at which all of its ops can have ended, over all
/// paths to it. Returns false if the last state cannot be reached in time.
bool Sweep::forwards(const Orders& orders, const std::vector<StateId>& alive) {
  earliest_[0] = 0;
  for (const StateId state : alive) {
    const Nanos now = earliest_[state];
    if (now == kNoTime) continue;
    for (std::size_t i = 0; i < chain_windows_.size(); ++i) {
      const StateId next = orders.next(state, i);
      if (next < 0 || earliest_[next] == kDead) continue;
      const Micro k = orders.count(state, i);
      const Nanos end = std::max(now, chain_windows_[i].release[k]) + chain_windows_[i].duration;
      if (end <= chain_windows_[i].due[k] && end < earliest_[next]) earliest_[next] = end;
    }
  }
  return earliest_[orders.last()] != kNoTime;
}

/// Computes, for each state, the latest time at which its ops may have ended so that the remaining
/// ops still meet their windows. The new windows start empty. An edge that fits between the two
/// times lies on some order within all windows, so the window of its op is widened to include it.
/// Returns false if the first state is too late.
bool Sweep::backwards(const Orders& orders, const std::vector<StateId>& alive) {
  for (auto at = alive.rbegin(); at != alive.rend(); ++at) {
    const StateId state = *at;
    latest_[state] = state == orders.last() ? kNoTime : kDead;
    if (earliest_[state] == kNoTime) continue;
    for (std::size_t i = 0; i < chain_windows_.size(); ++i) {
      const StateId next = orders.next(state, i);
      if (next < 0 || earliest_[next] == kDead || latest_[next] == kDead) continue;
      ChainWindows& chain = chain_windows_[i];
      const Micro k = orders.count(state, i);
      const Nanos end = std::min(latest_[next], chain.due[k]);
      const Nanos start = std::max(earliest_[state], chain.release[k]);
      if (start + chain.duration > end) continue;
      latest_[state] = std::max(latest_[state], end - chain.duration);
      chain.new_release[k] = std::min(chain.new_release[k], start);
      chain.new_due[k] = std::max(chain.new_due[k], end);
    }
  }
  return latest_[0] != kDead;
}

}  // namespace weft::pipeline
