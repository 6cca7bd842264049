// SPDX-License-Identifier: Apache-2.0
// Computes the times of ops. run() computes all ops in the order of ids. update() computes only
// marked ops, in the same order. visit() computes one op. It marks a successor of the op if the
// op's new end can change the successor's start. Ids are a topological order, so a visit only marks
// later ops, and every op is visited at most once. For checkpoint() and rollback(), every
// overwritten value is written to a log (old_times_, old_durations_, old_delays_). rollback()
// applies the log backwards.
#include "weft/sim/replay.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "weft/base/check.h"

namespace weft::sim {

using graph::EdgeId;
using graph::OpId;

Replay::Replay(const graph::Graph& graph)
    : graph_(&graph),
      start_(graph.size()),
      end_(graph.size()),
      duration_(graph.ops.duration),
      delay_(graph.edges.size()),
      source_(graph.edges.size()),
      first_out_(graph.size() + 1),
      out_(graph.edges.size()),
      dirty_((graph.size() + 63) / 64),
      dirty_words_((dirty_.size() + 63) / 64) {
  for (EdgeId e = 0; e < graph.edges.size(); ++e) {
    delay_[e] = graph.edges[e].delay;
    source_[e] = graph.edges[e].source;
    ++first_out_[source_[e] + 1];
  }
  for (OpId op = 0; op < graph.size(); ++op) {
    if (first_out_[op + 1] == 0) last_ops_.push_back(op);
  }
  std::partial_sum(first_out_.begin(), first_out_.end(), first_out_.begin());
  std::vector<std::uint32_t> next(first_out_.begin(), first_out_.end() - 1);
  for (OpId op = 0; op < graph.size(); ++op) {
    for (EdgeId e = graph.first_edge[op]; e < graph.first_edge[op + 1]; ++e) {
      out_[next[source_[e]]++] = {op, e};
    }
  }
}

Nanos Replay::ready_time(OpId op) const {
  Nanos ready = 0;
  const EdgeId last = graph_->first_edge[op + 1];
  for (EdgeId e = graph_->first_edge[op]; e < last; ++e) {
    ready = std::max(ready, end_[source_[e]] + delay_[e]);
  }
  return ready;
}

void Replay::run() {
  const auto n = static_cast<OpId>(start_.size());
  if (noting_) {  // only visit() writes the log of the checkpoint, and the log needs every change
    for (OpId op = 0; op < n; ++op) mark(op);
    update();
    return;
  }
  // This loop takes most of the time of a replay, so it uses raw pointers. If it used the vectors
  // themselves, the compiler would have to assume that writing to end_ changes their addresses. It
  // would then load the addresses again for every op.
  const EdgeId* const first_edge = graph_->first_edge.data();
  const OpId* const source = source_.data();
  const Nanos* const delay = delay_.data();
  const Nanos* const duration = duration_.data();
  Nanos* const start = start_.data();
  Nanos* const end = end_.data();
  EdgeId e = 0;
  for (OpId op = 0; op < n; ++op) {
    Nanos ready = 0;
    for (const EdgeId last = first_edge[op + 1]; e < last; ++e) {
      ready = std::max(ready, end[source[e]] + delay[e]);
    }
    start[op] = ready;
    end[op] = ready + duration[op];
  }
  clear_marks();
  ran_ = true;
}

void Replay::set_duration(OpId op, Nanos duration) {
  WEFT_CHECK(op < duration_.size() && duration >= 0);
  if (duration_[op] == duration) return;
  if (noting_) old_durations_.push_back({op, duration_[op]});
  duration_[op] = duration;
  mark(op);
}

void Replay::set_delay(EdgeId edge, Nanos delay) {
  WEFT_CHECK(edge < delay_.size() && delay >= 0);
  if (delay_[edge] == delay) return;
  if (noting_) old_delays_.push_back({edge, delay_[edge]});
  delay_[edge] = delay;
  // Edges are grouped by destination, so a search in the offsets finds the edge's destination.
  const auto& first = graph_->first_edge;
  mark(static_cast<OpId>(std::upper_bound(first.begin(), first.end(), edge) - first.begin() - 1));
}

void Replay::mark(OpId op) {
  dirty_[op / 64] |= std::uint64_t{1} << (op % 64);
  dirty_words_[op / 4096] |= std::uint64_t{1} << (op / 64 % 64);
}

void Replay::clear_marks() {
  for (std::size_t i = 0; i < dirty_words_.size(); ++i) {
    for (std::uint64_t& words = dirty_words_[i]; words != 0; words &= words - 1) {
      dirty_[i * 64 + static_cast<std::size_t>(std::countr_zero(words))] = 0;
    }
  }
}

/// Computes the op's times again and marks the successors whose start may change.
void Replay::visit(OpId op) {
  const Nanos ready = ready_time(op);
  const Nanos old_end = end_[op];
  const Nanos new_end = ready + duration_[op];
  if (ready == start_[op] && new_end == old_end) return;
  if (noting_) old_times_.push_back({op, start_[op], old_end});
  start_[op] = ready;
  end_[op] = new_end;
  if (new_end == old_end) return;
  // A later end matters only if it is after the successor's start. An earlier end matters only if
  // the successor had waited for exactly this end. It is enough to compare with the successor's
  // start: if the successor is not marked, its start fits the ends of all its other sources.
  const bool later = new_end > old_end;
  for (std::uint32_t i = first_out_[op]; i < first_out_[op + 1]; ++i) {
    const auto [destination, edge] = out_[i];
    if (later ? new_end + delay_[edge] > start_[destination]
              : old_end + delay_[edge] >= start_[destination]) {
      mark(destination);
    }
  }
}

std::size_t Replay::update() {
  if (!ran_) {
    run();
    return start_.size();
  }
  std::size_t visited = 0;
  for (std::size_t i = 0; i < dirty_words_.size(); ++i) {
    // A visit only marks later ops. They may be in the same word, so read the word again each time.
    while (dirty_words_[i] != 0) {
      const std::size_t word = i * 64 + static_cast<std::size_t>(std::countr_zero(dirty_words_[i]));
      while (dirty_[word] != 0) {
        const int bit = std::countr_zero(dirty_[word]);
        dirty_[word] &= dirty_[word] - 1;
        visit(static_cast<OpId>(word * 64 + static_cast<std::size_t>(bit)));
        ++visited;
      }
      dirty_words_[i] &= dirty_words_[i] - 1;
    }
  }
  return visited;
}

void Replay::checkpoint() {
  update();
  noting_ = true;
  old_times_.clear();
  old_durations_.clear();
  old_delays_.clear();
}

void Replay::rollback() {
  WEFT_CHECK(noting_);
  clear_marks();
  // A value may have changed several times. Its first entry in the log holds the value at the
  // checkpoint, so this entry must be applied last. So apply the entries backwards.
  for (auto old = old_times_.rbegin(); old != old_times_.rend(); ++old) {
    start_[old->op] = old->start;
    end_[old->op] = old->end;
  }
  for (auto old = old_durations_.rbegin(); old != old_durations_.rend(); ++old) {
    duration_[old->index] = old->value;
  }
  for (auto old = old_delays_.rbegin(); old != old_delays_.rend(); ++old) {
    delay_[old->index] = old->value;
  }
  old_times_.clear();
  old_durations_.clear();
  old_delays_.clear();
}

Nanos Replay::makespan() const {
  // An op never ends after one of its successors does, so the last op to end has no successors.
  Nanos latest = 0;
  for (OpId op : last_ops_) latest = std::max(latest, end_[op]);
  return latest;
}

}  // namespace weft::sim
