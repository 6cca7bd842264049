// SPDX-License-Identifier: Apache-2.0
// What the parts of the matching share. Private to them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <vector>

#include "weft/base/diagnostics.h"
#include "weft/base/median.h"
#include "weft/base/units.h"
#include "weft/trace/events.h"
#include "weft/trace/match/calls.h"
#include "weft/trace/match/match.h"
#include "weft/trace/match/sequence_align.h"

namespace weft::trace {

// Offsets between the clocks of ranks as far as earlier groups revealed them: a group with few
// calls then need not guess again.
class RoughClocks {
 public:
  explicit RoughClocks(std::size_t ranks) : parent_(ranks), offset_(ranks, 0) {
    std::iota(parent_.begin(), parent_.end(), 0u);
  }
  /// What to add to `b` to get `a`.
  std::optional<Nanos> between(std::uint32_t a, std::uint32_t b) {
    if (root(a) != root(b)) return std::nullopt;
    return offset_[b] - offset_[a];
  }
  void relate(std::uint32_t a, std::uint32_t b, Nanos add_to_b) {
    const std::uint32_t root_a = root(a);
    const std::uint32_t root_b = root(b);
    if (root_a == root_b) return;
    parent_[root_b] = root_a;
    offset_[root_b] = add_to_b + offset_[a] - offset_[b];
  }

 private:
  // Compresses the path; afterwards offset_[r] is relative to the root.
  std::uint32_t root(std::uint32_t r) {
    if (parent_[r] == r) return r;
    const std::uint32_t top = root(parent_[r]);
    if (parent_[r] != top) offset_[r] += offset_[parent_[r]];
    parent_[r] = top;
    return top;
  }
  std::vector<std::uint32_t> parent_;
  std::vector<Nanos> offset_;
};

struct MatchContext {
  const Run& run;
  const std::vector<std::vector<Call>>& calls;
  Diagnostics& diagnostics;
  RoughClocks clocks;
  std::vector<Match> matches;
  std::int64_t unnumbered = 0;  ///< gives messages without a recorded number their order

  /// Relative to one epoch, so that differences between ranks mean something.
  Nanos end_of(std::uint32_t rank, const Call& call) const {
    return run.ranks[rank].events.end(call.event) + (run.ranks[rank].epoch - run.ranks[0].epoch);
  }
  /// What is known about the clocks of two ranks. Wide enough for clocks that drift apart.
  std::optional<SequencePrior> prior(std::uint32_t a, std::uint32_t b) {
    const std::optional<Nanos> offset = clocks.between(a, b);
    if (!offset) return std::nullopt;
    return SequencePrior{*offset, 100 * kMillisecond};
  }
};

/// Each handles its part of the calls and appends to context.matches.
void match_collectives(MatchContext& context);
void match_messages(MatchContext& context);
/// Sends and receives of which nothing is known but their ends.
void match_nameless_messages(MatchContext& context);

}  // namespace weft::trace
