// SPDX-License-Identifier: Apache-2.0
// When the data of a collective moved. Most of a recorded member can be waiting: nothing moves
// before the last one has come.
#pragma once

#include <span>

#include "weft/base/units.h"

namespace weft::trace {

/// When one member came and when it was done, on the common clock.
struct Attendance {
  Nanos start = 0;
  Nanos end = 0;
};

struct Transfer {
  Nanos begins = 0;  ///< the last member came
  Nanos ends = 0;    ///< the first of those that waited for it was done; never before `begins`

  /// A member that was done before the last one came did not wait for it (the root of a broadcast,
  /// the sender of a small message).
  bool waited(Nanos member_end) const;
};

/// `members` is not empty.
Transfer find_transfer(std::span<const Attendance> members);

}  // namespace weft::trace
