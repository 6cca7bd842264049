// SPDX-License-Identifier: Apache-2.0
// Rates, speeds and clock errors as people write them in cluster descriptions and on the command
// line, and back. All are integers: nothing about a cluster depends on rounding.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "weft/base/units.h"

namespace weft::testbed {

/// Bits in a second from "1gbit", "500mbit", "2.5 Gbit/s", "64kbit". nullopt: it is no such rate,
/// or none that a link can have.
std::optional<std::int64_t> parse_rate(std::string_view text);
/// "1gbit", "2500mbit": what parse_rate() and tc read.
std::string print_rate(std::int64_t bits_per_second);

/// Thousandths from "0.5"; more than 0 and at most 1, since a host can only be slowed.
std::optional<int> parse_speed(std::string_view text);

/// How the clock of a host differs from the true one.
struct Clock {
  Nanos offset = 0;            ///< ahead of the true time by
  std::int64_t drift_ppb = 0;  ///< runs fast by so many nanoseconds a second

  bool is_true() const { return offset == 0 && drift_ppb == 0; }
  bool operator==(const Clock&) const = default;
};

/// From "+50ms", "-3us", "50ppm" or both with a comma between: "+50ms,50ppm".
std::optional<Clock> parse_clock(std::string_view text);
/// "+50000000ns,50000ppb", which parse_clock() reads as well.
std::string print_clock(const Clock& clock);

/// `value` / 10^digits as a plain decimal: (1500, 3) -> "1.500".
std::string print_scaled(std::int64_t value, int digits);

}  // namespace weft::testbed
