// SPDX-License-Identifier: Apache-2.0
#include "weft/trace/match/transfer.h"

#include <algorithm>

namespace weft::trace {
namespace {

/// Aligned clocks may still differ by this much. So a member that seems to end up to this long
/// before the last arrival counts as a member that waited.
constexpr Nanos kIgnoredSkew = 10 * kMicrosecond;

}  // namespace

bool Transfer::waited(Nanos member_end) const { return member_end >= begins - kIgnoredSkew; }

Transfer find_transfer(std::span<const MemberTimes> members) {
  Transfer transfer{INT64_MIN, INT64_MAX};
  for (const MemberTimes& member : members)
    transfer.begins = std::max(transfer.begins, member.start);
  for (const MemberTimes& member : members) {
    if (transfer.waited(member.end)) transfer.ends = std::min(transfer.ends, member.end);
  }
  transfer.ends = std::max(transfer.ends, transfer.begins);
  return transfer;
}

}  // namespace weft::trace
