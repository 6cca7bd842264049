// SPDX-License-Identifier: Apache-2.0
#include "weft/cost/links.h"

#include <algorithm>
#include <cmath>

namespace weft::cost {
namespace {

/// If the sustained time is above this multiple of the isolated time, it is not used; see
/// expected_time().
constexpr double kPlausibleSustained = 1.1;
/// Upper limit of an extrapolated time in nanoseconds. It prevents overflow if a table is absurd.
constexpr double kLongest = 1e18;

}  // namespace

Nanos expected_time(Nanos alone, Nanos back_to_back) {
  // An isolated transfer finds empty buffers. A sustained transfer starts up while the one before
  // it still runs. A transfer in a running job has neither advantage, so the longer of the two
  // times is used. But only few calls measure the sustained time. If it is far above the isolated
  // median, one slow call has spoiled it.
  const bool plausible =
      back_to_back > alone &&
      static_cast<double>(back_to_back) <= kPlausibleSustained * static_cast<double>(alone);
  return plausible ? back_to_back : alone;
}

Nanos LinkTable::time(Bytes bytes) const {
  if (bytes <= rows.front().bytes) return rows.front().time;
  if (bytes >= rows.back().bytes) {
    const double time = static_cast<double>(rows.back().time) * static_cast<double>(bytes) /
                        static_cast<double>(rows.back().bytes);
    return std::llround(std::min(time, kLongest));
  }
  const auto above = std::upper_bound(rows.begin(), rows.end(), bytes,
                                      [](Bytes b, const LinkRow& row) { return b < row.bytes; });
  const LinkRow &hi = *above, &lo = *std::prev(above);
  const double share =
      static_cast<double>(bytes - lo.bytes) / static_cast<double>(hi.bytes - lo.bytes);
  return lo.time + std::llround(share * static_cast<double>(hi.time - lo.time));
}

}  // namespace weft::cost
