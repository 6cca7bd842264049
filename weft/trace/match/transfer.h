// SPDX-License-Identifier: Apache-2.0
// Finds when the data of a collective moved. Most of a member's recorded time may be waiting,
// because no data moves before the last member has arrived.
#pragma once

#include <span>

#include "weft/base/units.h"

namespace weft::trace {

/// When one member arrived and when it was done, on the common clock of all ranks.
struct MemberTimes {
  Nanos start = 0;
  Nanos end = 0;
};

struct Transfer {
  Nanos begins = 0;  ///< when the last member arrived
  Nanos ends = 0;    ///< when the first member that had waited was done; at least `begins`

  /// Whether a member that was done at `member_end` waited for the last member. A member that was
  /// done before the last member arrived did not wait: the root of a broadcast, for example, or the
  /// sender of a small message.
  bool waited(Nanos member_end) const;
};

/// Finds the transfer of a collective from the times of its members. `members` must not be empty.
/// Takes linear time.
Transfer find_transfer(std::span<const MemberTimes> members);

}  // namespace weft::trace
