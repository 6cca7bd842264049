// SPDX-License-Identifier: Apache-2.0
// Gives every node of a Chakra graph a start time, in this order:
//   1. resolve(): turn the ids of dependencies into positions, and drop unknown ids.
//   2. order(): find a topological order, and break cycles.
//   3. bridge(): replace dependencies on nodes that do no work by the dependencies of those nodes.
//      This needs the topological order, so that chains of such nodes collapse in one pass.
//   4. take_starts() if the file has times, else compute_starts(): a list schedule in which every
//      thread and stream runs one node at a time.
#include <algorithm>
#include <map>
#include <queue>
#include <unordered_map>

#include "weft/trace/formats/chakra/node.h"

namespace weft::trace::chakra {
namespace {

using Index = std::uint32_t;

class Scheduler {
 public:
  explicit Scheduler(const std::vector<Node>& nodes) : nodes_(nodes) {}

  Schedule run() {
    resolve();
    order();
    bridge();
    if (has_starts()) {
      take_starts();
    } else {
      compute_starts();
    }
    return std::move(out_);
  }

 private:
  /// Turns ids into positions. In files that come from PyTorch ctrl_deps names the calling
  /// operator, which orders nothing. So ctrl_deps count only if no node of the file has data_deps.
  void resolve() {
    std::unordered_map<std::uint64_t, Index> by_id;
    bool data = false;
    for (Index i = 0; i < nodes_.size(); ++i) {
      if (!by_id.try_emplace(nodes_[i].id, i).second) ++out_.duplicate_ids;
      data = data || !nodes_[i].data_deps.empty();
    }
    follows_.resize(nodes_.size());
    for (Index i = 0; i < nodes_.size(); ++i) {
      for (const std::uint64_t id : data ? nodes_[i].data_deps : nodes_[i].control_deps) {
        const auto found = by_id.find(id);
        if (found == by_id.end()) {
          ++out_.dangling;
        } else if (found->second == i) {
          ++out_.broken_cycles;
        } else {
          follows_[i].push_back(found->second);
        }
      }
      std::sort(follows_[i].begin(), follows_[i].end());
      follows_[i].erase(std::unique(follows_[i].begin(), follows_[i].end()), follows_[i].end());
    }
  }

  /// Finds a topological order. If several nodes are ready, takes the node that comes first in the
  /// file. If no node is ready, the remaining nodes contain a cycle. Then the first remaining node
  /// loses its open dependencies.
  void order() {
    std::vector<std::vector<Index>> followers(nodes_.size());
    std::vector<std::size_t> open(nodes_.size());
    for (Index i = 0; i < nodes_.size(); ++i) {
      open[i] = follows_[i].size();
      for (const Index before : follows_[i]) followers[before].push_back(i);
    }
    std::vector<bool> done(nodes_.size(), false);
    std::priority_queue<Index, std::vector<Index>, std::greater<>> ready;
    for (Index i = 0; i < nodes_.size(); ++i) {
      if (open[i] == 0) ready.push(i);
    }
    Index stuck = 0;
    while (order_.size() < nodes_.size()) {
      if (ready.empty()) {
        while (done[stuck]) ++stuck;
        const auto unmet = [&](Index before) { return !done[before]; };
        out_.broken_cycles += std::count_if(follows_[stuck].begin(), follows_[stuck].end(), unmet);
        std::erase_if(follows_[stuck], unmet);
        open[stuck] = 0;
        ready.push(stuck);
      }
      const Index next = ready.top();
      ready.pop();
      if (done[next]) continue;
      done[next] = true;
      order_.push_back(next);
      for (const Index after : followers[next]) {
        if (!done[after] && open[after] > 0 && --open[after] == 0) ready.push(after);
      }
    }
  }

  /// Replaces dependencies on nodes that do no work by the dependencies of those nodes. Visits
  /// nodes in topological order, so the dependencies of `before` are already final.
  void bridge() {
    for (const Index i : order_) {
      std::vector<Index> real;
      for (const Index before : follows_[i]) {
        if (nodes_[before].is_work()) {
          real.push_back(before);
        } else {
          real.insert(real.end(), follows_[before].begin(), follows_[before].end());
        }
      }
      std::sort(real.begin(), real.end());
      real.erase(std::unique(real.begin(), real.end()), real.end());
      follows_[i] = std::move(real);
    }
    out_.follows = std::move(follows_);
  }

  bool has_starts() const {
    return std::any_of(nodes_.begin(), nodes_.end(),
                       [](const Node& node) { return node.start_micros > 0; });
  }

  /// Takes the recorded starts, relative to the start of the first node that does work.
  void take_starts() {
    std::uint64_t first = UINT64_MAX;
    for (const Node& node : nodes_) {
      if (node.is_work()) first = std::min(first, node.start_micros);
    }
    out_.epoch = static_cast<Nanos>(first) * kMicrosecond;
    for (const Node& node : nodes_) {
      out_.start.push_back(
          static_cast<Nanos>(node.start_micros - std::min(first, node.start_micros)) *
          kMicrosecond);
    }
  }

  /// Computes a list schedule. The queue holds the nodes whose dependencies have ended. It is
  /// sorted by the time at which the last dependency of a node ended.
  void compute_starts() {
    out_.computed = true;
    out_.start.assign(nodes_.size(), 0);
    std::vector<std::vector<Index>> followers(nodes_.size());
    std::vector<std::size_t> open(nodes_.size());
    using Ready = std::pair<Nanos, Index>;
    std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready;
    for (Index i = 0; i < nodes_.size(); ++i) {
      open[i] = out_.follows[i].size();
      for (const Index before : out_.follows[i]) followers[before].push_back(i);
      if (open[i] == 0) ready.emplace(0, i);
    }
    std::map<std::pair<bool, std::int64_t>, Nanos> free;  // time from which each row is free
    while (!ready.empty()) {
      const auto [time, i] = ready.top();
      ready.pop();
      Nanos start = time;
      if (nodes_[i].is_work()) {
        Nanos& row = free[{nodes_[i].on_host, row_of(nodes_[i])}];
        start = std::max(start, row);
        row = start + static_cast<Nanos>(nodes_[i].duration_micros) * kMicrosecond;
      }
      out_.start[i] = start;
      for (const Index after : followers[i]) {
        if (--open[after] > 0) continue;
        Nanos allowed = 0;
        for (const Index before : out_.follows[after]) {
          const auto length = static_cast<Nanos>(nodes_[before].duration_micros) * kMicrosecond;
          allowed = std::max(allowed, out_.start[before] + length);
        }
        ready.emplace(allowed, after);
      }
    }
  }

  const std::vector<Node>& nodes_;
  std::vector<std::vector<Index>> follows_;
  std::vector<Index> order_;
  Schedule out_;
};

}  // namespace

std::int64_t row_of(const Node& node) {
  if (node.on_host) return std::max<std::int64_t>(node.thread, 0);
  if (node.stream >= 0) return node.stream;
  if (node.thread >= 0) return node.thread;
  // As in ASTRA-sim, one compute node and one send or collective run at a time. Receives run at the
  // same time as all other nodes.
  if (node.type == NodeType::kReceive) return 2;
  return node.is_communication() ? 1 : 0;
}

Schedule schedule(const std::vector<Node>& nodes) { return Scheduler(nodes).run(); }

}  // namespace weft::trace::chakra
