// SPDX-License-Identifier: Apache-2.0
// Two ranks' lists of the same communication, laid side by side although each may lack entries and
// their clocks differ by an unknown amount. Private to the matching.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "weft/base/units.h"

namespace weft::trace {

/// One call as the aligner sees it. Unknown properties are wildcards.
struct SequenceItem {
  Nanos end = 0;               ///< on its own clock
  std::int32_t kind = -1;      ///< -1 unknown; otherwise only equal kinds go together
  Bytes bytes = -1;            ///< -1 unknown or not comparable
  std::int64_t sequence = -1;  ///< recorded number; decides among equal kinds where both have one
};

struct SequenceOptions {
  /// What a pair is worth for being in order, against up to 2 for ends that agree.
  double order_gain = 0.1;
  /// Ends further apart than this (and than 20 times the spread) are no pair unless both neighbours
  /// leave no other choice.
  Nanos doubtful = kMillisecond;
};

/// Messages arrive in the order in which they were sent and wait in buffers for milliseconds.
constexpr SequenceOptions kMessageOptions = {1.0, 50 * kMillisecond};

struct SequencePrior {
  Nanos offset = 0;     ///< expected value of end in `a` minus end in `b`
  Nanos tolerance = 0;  ///< how far from it the truth may lie
};

struct SequenceMatch {
  /// Indices into a and b, both increasing.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
  /// For each pair: what to add to b's clock to get a's, near that pair (running median).
  std::vector<Nanos> offset;
  Nanos spread = 0;  ///< robust standard deviation of the ends about the running offset
  double score = 0;  ///< comparable between alternatives for the same `b`
};

/// `a` and `b` are in the order in which the calls were made. Ends of one collective agree after a
/// constant (slowly changing) offset while starts do not, so among all offsets under which the
/// lists could overlap the one with the sharpest agreement of ends wins; near-ties go to the offset
/// nearest 0, for clocks usually are nearly right. Costs O(n m) up to a million pairs,
/// then a band.
SequenceMatch align_sequences(const std::vector<SequenceItem>& a,
                              const std::vector<SequenceItem>& b,
                              const std::optional<SequencePrior>& prior = std::nullopt,
                              const SequenceOptions& options = {});

}  // namespace weft::trace
