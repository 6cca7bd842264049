// SPDX-License-Identifier: Apache-2.0
// Finds which entries of two lists of calls are the same call. The lists come from two ranks that
// took part in the same communication. Each list may lack entries, and the clocks of the ranks
// differ by an unknown offset. Private to the matching.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "weft/base/units.h"

namespace weft::trace {

/// The properties of one call that the alignment compares. Unknown properties are wildcards.
struct SequenceItem {
  Nanos end = 0;           ///< end of the item, on the clock of its rank
  std::int32_t kind = -1;  ///< -1 if unknown; known kinds must be equal
  Bytes bytes = -1;        ///< -1 if unknown or not comparable between ranks
  /// The recorded number, or -1. If the two calls have numbers, only the numbers are compared.
  std::int64_t sequence = -1;
};

struct SequenceOptions {
  /// The part of a pair's score that does not depend on its ends. Ends that agree add up to 2 to
  /// the score.
  double order_gain = 0.1;
  /// After the offset is applied, the ends of a pair should agree. A pair is dropped if its ends
  /// differ by more than this and by more than 20 times the spread. But it is kept if the calls
  /// before and after it form pairs too, because then no other partner is possible.
  Nanos doubtful = kMillisecond;
};

/// Options for messages. Messages arrive in the order in which they were sent, so order counts more
/// than for collectives. A message may wait in a buffer for milliseconds, so its ends may differ
/// more.
constexpr SequenceOptions kMessageOptions = {1.0, 50 * kMillisecond};

/// What is known about two clocks before the alignment.
struct SequencePrior {
  Nanos offset = 0;     ///< expected value of (end in `a`) - (end in `b`)
  Nanos tolerance = 0;  ///< largest possible error of `offset`
};

struct SequenceMatch {
  /// Indices into `a` and `b`. They increase from pair to pair.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
  /// For each pair: what to add to a time of b's clock to get the time of a's clock. This is a
  /// running median over neighbouring pairs.
  std::vector<Nanos> offset;
  Nanos spread = 0;  ///< robust standard deviation of the ends about the running offset
  double score = 0;  ///< to compare several lists `a` for one `b`: higher is better
};

/// Aligns two lists of calls, `a` and `b`. Each list is in the order in which the calls were made.
/// The members of a collective end together, so their ends agree after a constant (or slowly
/// changing) offset; their starts do not agree. Among all offsets at which the lists can overlap,
/// chooses the offset at which the ends agree best. Of equally good offsets, the offset nearest to
/// the prior wins. Without a prior, the offset nearest to 0 wins, since most clocks are almost
/// right. Takes O(n m) time up to a million cells. For longer lists, only a band of constant width
/// around the diagonal is computed. An empty list gives an empty match.
SequenceMatch align_sequences(const std::vector<SequenceItem>& a,
                              const std::vector<SequenceItem>& b,
                              const std::optional<SequencePrior>& prior = std::nullopt,
                              const SequenceOptions& options = {});

}  // namespace weft::trace
