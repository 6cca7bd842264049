// SPDX-License-Identifier: Apache-2.0
// State that the match_...() functions of this folder share. Private to these functions.
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

// Knows offsets between the clocks of ranks. They are learned from the groups that are matched
// first. Groups with few calls are matched later and use these offsets as a prior. This is a
// union-find structure: the offsets between all ranks of one set are known.
class RoughClocks {
 public:
  explicit RoughClocks(std::size_t ranks) : parent_(ranks), offset_(ranks, 0) {
    std::iota(parent_.begin(), parent_.end(), 0u);
  }
  /// What to add to a time of rank `b` to get the time of rank `a`; nullopt if it is unknown.
  std::optional<Nanos> between(std::uint32_t a, std::uint32_t b) {
    if (root(a) != root(b)) return std::nullopt;
    return offset_[b] - offset_[a];
  }
  /// Records an offset. Ignored if an earlier call has related the two ranks already.
  void relate(std::uint32_t a, std::uint32_t b, Nanos add_to_b) {
    const std::uint32_t root_a = root(a);
    const std::uint32_t root_b = root(b);
    if (root_a == root_b) return;
    parent_[root_b] = root_a;
    offset_[root_b] = add_to_b + offset_[a] - offset_[b];
  }

 private:
  // The root of r's set. Compresses the path, so that offset_[r] is relative to the root
  // afterwards.
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
  std::int64_t unnumbered = 0;  ///< the next number for a message that was recorded without one

  /// Returns the end of a call relative to the first rank's epoch, so that ends of ranks can be
  /// compared.
  Nanos end_of(std::uint32_t rank, const Call& call) const {
    return run.ranks[rank].events.end(call.event) + (run.ranks[rank].epoch - run.ranks[0].epoch);
  }
  /// What is known about the offset between the clocks of two ranks. The tolerance allows for
  /// drift.
  std::optional<SequencePrior> prior(std::uint32_t a, std::uint32_t b) {
    const std::optional<Nanos> offset = clocks.between(a, b);
    if (!offset) return std::nullopt;
    return SequencePrior{*offset, 100 * kMillisecond};
  }
};

/// Each function handles its part of the calls and appends to context.matches.
void match_collectives(MatchContext& context);
void match_messages(MatchContext& context);
/// Matches sends and receives whose peers are unknown. Compares only the times of their ends.
void match_nameless_messages(MatchContext& context);

}  // namespace weft::trace
