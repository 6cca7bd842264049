// SPDX-License-Identifier: Apache-2.0
// Parses and prints rates, speeds and clock errors, as in cluster descriptions and on the command
// line. All values are integers. So if a value is printed and parsed again, it is exactly the same.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "weft/base/units.h"

namespace weft::testbed {

/// Parses "1gbit", "500mbit", "2.5 Gbit/s" or "64kbit" into bits per second. Returns nullopt if the
/// text is not a rate, or if the rate is below 8 kbit/s or above 1 Tbit/s.
std::optional<std::int64_t> parse_rate(std::string_view text);
/// "1gbit", "2500mbit": parse_rate() and tc read this form.
std::string print_rate(std::int64_t bits_per_second);

/// Parses a speed such as "0.5" into thousandths. Returns nullopt unless the speed is above 0 and
/// at most 1, because a host can only be slowed down.
std::optional<int> parse_speed(std::string_view text);

/// How the clock of a host differs from the true time.
struct Clock {
  Nanos offset = 0;            ///< how far the clock is ahead of the true time
  std::int64_t drift_ppb = 0;  ///< how many nanoseconds too far the clock advances per second

  bool is_true() const { return offset == 0 && drift_ppb == 0; }
  bool operator==(const Clock&) const = default;
};

/// Parses an offset ("+50ms", "-3us"), a drift ("50ppm") or both ("+50ms,50ppm").
std::optional<Clock> parse_clock(std::string_view text);
/// "+50000000ns,50000ppb", a form that parse_clock() reads.
std::string print_clock(const Clock& clock);

/// `value` / 10^digits as a plain decimal: (1500, 3) -> "1.500".
std::string print_scaled(std::int64_t value, int digits);

}  // namespace weft::testbed
