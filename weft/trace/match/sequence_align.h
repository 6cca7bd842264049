// SPDX-License-Identifier: Apache-2.0
// Aligns the lists of two ranks that took part in the same communication: finds which entries are
// the same call, although each list may lack entries and the clocks of the ranks differ by an
// unknown offset. Private to the matching.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "weft/base/units.h"

namespace weft::trace {

/// The properties of one call that the alignment compares. Unknown properties are wildcards.
struct SequenceItem {
  Nanos end = 0;               ///< on the clock of its rank
  std::int32_t kind = -1;      ///< -1 if unknown; known kinds must be equal
  Bytes bytes = -1;            ///< -1 if unknown or not comparable between ranks
  std::int64_t sequence = -1;  ///< recorded number, -1 if none; if both have one, it decides alone
};

struct SequenceOptions {
  /// Score of any pair, whether its ends agree or not. Agreement of the ends adds up to 2.
  double order_gain = 0.1;
  /// A pair is dropped if its ends, after the offset, differ by more than this and by more than 20
  /// times the spread. It is kept if the calls before and after it are pairs as well: then no other
  /// partner is possible.
  Nanos doubtful = kMillisecond;
};

/// For messages: they arrive in the order in which they were sent, so order counts more. But they
/// may wait in buffers for milliseconds, so ends may differ more.
constexpr SequenceOptions kMessageOptions = {1.0, 50 * kMillisecond};

/// What is known about two clocks before the alignment.
struct SequencePrior {
  Nanos offset = 0;     ///< expected value of (end in `a`) - (end in `b`)
  Nanos tolerance = 0;  ///< largest possible error of `offset`
};

struct SequenceMatch {
  /// Indices into a and b; both increase.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
  /// For each pair: what to add to b's clock to get a's clock near this pair (running median).
  std::vector<Nanos> offset;
  Nanos spread = 0;  ///< robust standard deviation of the ends about the running offset
  double score = 0;  ///< comparable between several `a` for the same `b`
};

/// `a` and `b` are in the order in which the calls were made. The members of a collective end
/// together, so their ends agree after a constant (or slowly changing) offset; their starts do not
/// agree. Among all offsets at which the lists can overlap, the one with the best agreement of ends
/// wins. Tie-break: the offset nearest to the prior, or to 0 without prior, since most clocks are
/// almost right. Cost: O(n m) up to a million cells; beyond that, a band of constant width around
/// the diagonal. An empty list gives an empty match.
SequenceMatch align_sequences(const std::vector<SequenceItem>& a,
                              const std::vector<SequenceItem>& b,
                              const std::optional<SequencePrior>& prior = std::nullopt,
                              const SequenceOptions& options = {});

}  // namespace weft::trace
