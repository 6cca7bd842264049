// SPDX-License-Identifier: Apache-2.0
// Finds which events of different ranks belong to one collective or one message. The clocks of the
// ranks need not be aligned yet, and the recordings of the ranks may begin and end at different
// collectives.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/base/diagnostics.h"
#include "weft/base/units.h"
#include "weft/trace/events.h"
#include "weft/trace/match/calls.h"

namespace weft::trace {

struct Member {
  std::uint32_t rank = 0;   ///< index into Run::ranks
  std::uint32_t event = 0;  ///< index into that rank's events

  bool operator==(const Member&) const = default;
};

struct Match {
  CollectiveKind kind = CollectiveKind::kOther;
  std::string group;           ///< as recorded, empty if unknown
  std::int64_t sequence = -1;  ///< the recorded number, else the position in its group
  Bytes bytes = -1;      ///< the whole array, or the message that members[0] sends; -1: unknown
  Bytes bytes_back = 0;  ///< messages: bytes that the two kernels send the other way
  std::int32_t group_size = -1;  ///< number of members of a complete match; -1 if unknown
  /// Sorted by rank; for a message, the sender and then the receiver. A member is missing if its
  /// event was not recorded.
  std::vector<Member> members;

  bool is_message() const { return kind == CollectiveKind::kSendRecv; }
  bool complete() const { return static_cast<std::int32_t>(members.size()) == group_size; }
};

/// The communication of each rank; calls[r] belongs to run.ranks[r]. Uses communication_calls() for
/// profiler traces and phase_calls() for op timelines. Works on the ranks in parallel.
std::vector<std::vector<Call>> find_calls(const Run& run);

/// Finds the matches of all calls. Every call is in at least one match. If no partner is found, the
/// call is the only member of its match. A call that carries a batch of messages is in one match
/// per message. The matches of a group are in the order of its calls. Calls match if they have the
/// same group and the same sequence number. If sequence numbers were not recorded, calls are paired
/// by group, kind, size and order. The times of their ends then show which calls are missing on a
/// rank.
std::vector<Match> match_calls(const Run& run, const std::vector<std::vector<Call>>& calls,
                               Diagnostics& diagnostics);
/// Calls find_calls() and then the function above.
std::vector<Match> match_calls(const Run& run, Diagnostics& diagnostics);

}  // namespace weft::trace
