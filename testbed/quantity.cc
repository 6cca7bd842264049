// SPDX-License-Identifier: Apache-2.0
#include "testbed/quantity.h"

#include <fmt/format.h>

#include <cctype>
#include <cstdlib>
#include <span>

#include "weft/base/decimal.h"

namespace weft::testbed {
namespace {

constexpr std::int64_t kSlowestLink = 8'000;              ///< bits per second; tc allows no less
constexpr std::int64_t kFastestLink = 1'000'000'000'000;  ///< bits per second
constexpr Nanos kLargestOffset = 1'000'000 * kSecond;
constexpr std::int64_t kLargestDriftPpb = 100'000'000;  ///< 10 %

struct Unit {
  std::string_view name;
  int digits;  ///< the unit is 10^digits of the smallest unit
};

// If the name of a unit is the end of another name ("bit" of "kbit"), the longer name comes first
// in the list, because the first match counts.
constexpr Unit kRateUnits[] = {{"kbit", 3}, {"mbit", 6}, {"gbit", 9}, {"bit", 0}};
constexpr Unit kOffsetUnits[] = {{"ns", 0}, {"us", 3}, {"ms", 6}, {"s", 9}};
constexpr Unit kDriftUnits[] = {{"ppm", 3}, {"ppb", 0}};

/// The text in lower case, without blanks, and without "/s" at its end.
std::string normalised(std::string_view text) {
  std::string out;
  for (const char letter : text) {
    if (letter != ' ') out += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  }
  if (out.ends_with("/s")) out.resize(out.size() - 2);
  return out;
}

/// Parses a decimal number followed by a unit. The first unit that the text ends with counts.
std::optional<std::int64_t> parse_with_unit(std::string_view text, std::span<const Unit> units) {
  for (const Unit& unit : units) {
    if (!text.ends_with(unit.name)) continue;
    text.remove_suffix(unit.name.size());
    if (text.starts_with('+')) text.remove_prefix(1);
    return parse_scaled(text, unit.digits);
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::int64_t> parse_rate(std::string_view text) {
  const auto rate = parse_with_unit(normalised(text), kRateUnits);
  if (!rate || *rate < kSlowestLink || *rate > kFastestLink) return std::nullopt;
  return rate;
}

std::string print_rate(std::int64_t bits_per_second) {
  for (const auto& [name, size] :
       {std::pair{"gbit", 1'000'000'000}, {"mbit", 1'000'000}, {"kbit", 1'000}}) {
    if (bits_per_second % size == 0) return fmt::format("{}{}", bits_per_second / size, name);
  }
  return fmt::format("{}bit", bits_per_second);
}

std::optional<int> parse_speed(std::string_view text) {
  const auto speed = parse_scaled(text, 3);
  if (!speed || *speed < 1 || *speed > 1000) return std::nullopt;
  return static_cast<int>(*speed);
}

std::optional<Clock> parse_clock(std::string_view text) {
  Clock clock;
  const std::string whole = normalised(text);
  // Accept at most one offset and at most one drift, in any order.
  bool has_offset = false;
  bool has_drift = false;
  for (std::string_view rest = whole;;) {
    const std::size_t comma = rest.find(',');
    const std::string_view part = rest.substr(0, comma);
    if (const auto drift = parse_with_unit(part, kDriftUnits); drift && !has_drift) {
      clock.drift_ppb = *drift;
      has_drift = true;
    } else if (const auto offset = parse_with_unit(part, kOffsetUnits); offset && !has_offset) {
      clock.offset = *offset;
      has_offset = true;
    } else {
      return std::nullopt;
    }
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  if (std::abs(clock.offset) > kLargestOffset || std::abs(clock.drift_ppb) > kLargestDriftPpb) {
    return std::nullopt;
  }
  return clock;
}

std::string print_clock(const Clock& clock) {
  return fmt::format("{:+}ns,{}ppb", clock.offset, clock.drift_ppb);
}

std::string print_scaled(std::int64_t value, int digits) {
  std::string text = std::to_string(std::abs(value));
  const auto decimals = static_cast<std::size_t>(digits);
  if (text.size() <= decimals) text.insert(0, decimals + 1 - text.size(), '0');
  text.insert(text.size() - decimals, ".");
  return (value < 0 ? "-" : "") + text;
}

}  // namespace weft::testbed
