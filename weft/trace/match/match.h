// SPDX-License-Identifier: Apache-2.0
// Which events of different ranks are one collective or one message. Works on clocks that are not
// aligned yet, and on windows that cut collectives off on some ranks only.
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
  std::string group;             ///< as recorded, empty if unknown
  std::int64_t sequence = -1;    ///< as recorded, else the position in its group
  Bytes bytes = -1;              ///< whole array; for a message what members[0] sends; -1 unknown
  Bytes bytes_back = 0;          ///< messages: what the same two kernels send the other way
  std::int32_t group_size = -1;  ///< members there should be, -1 unknown
  /// By rank; sender then receiver for a message. Those that were not recorded are missing.
  std::vector<Member> members;

  bool is_message() const { return kind == CollectiveKind::kSendRecv; }
  bool complete() const { return static_cast<std::int32_t>(members.size()) == group_size; }
};

/// calls[r] belongs to run.ranks[r]: communication_calls() of Kineto-like ranks, phase_calls() of
/// op timelines. In parallel over ranks.
std::vector<std::vector<Call>> find_calls(const Run& run);

/// Every call is in at least one match, alone if need be; a call of a batch may be in several (one
/// a message). Matches of a group keep its order. Key: group and sequence number where recorded,
/// else group, kind, size and order, with the agreement of ends deciding about holes.
std::vector<Match> match_calls(const Run& run, const std::vector<std::vector<Call>>& calls,
                               Diagnostics& diagnostics);
/// find_calls(), then match_calls().
std::vector<Match> match_calls(const Run& run, Diagnostics& diagnostics);

}  // namespace weft::trace
