// SPDX-License-Identifier: Apache-2.0
#include "weft/base/size.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <limits>

#include "weft/base/decimal.h"

namespace weft {
namespace {

struct Unit {
  std::string_view name;
  Bytes bytes;
};

/// "B" must come last, because all other units end with it.
constexpr std::array<Unit, 9> kUnits = {{{"KiB", Bytes{1} << 10},
                                         {"MiB", Bytes{1} << 20},
                                         {"GiB", Bytes{1} << 30},
                                         {"TiB", Bytes{1} << 40},
                                         {"kB", 1'000},
                                         {"MB", 1'000'000},
                                         {"GB", 1'000'000'000},
                                         {"TB", 1'000'000'000'000},
                                         {"B", 1}}};

constexpr int kDecimals = 9;  ///< a number before a unit is rounded to this many decimals
constexpr Bytes kScale = 1'000'000'000;

}  // namespace

std::optional<Bytes> parse_bytes(std::string_view text) {
  Bytes unit = 1;
  for (const Unit& known : kUnits) {
    if (!text.ends_with(known.name)) continue;
    unit = known.bytes;
    text.remove_suffix(known.name.size());
    break;
  }
  // parse_scaled() accepts signs and exponents, which a size must not have.
  if (text.find_first_not_of("0123456789.") != std::string_view::npos) return std::nullopt;
  if (unit == 1) return parse_scaled(text, 0);
  // Multiply the whole part and the fraction by the unit separately, so that large sizes stay
  // exact.
  const auto number = parse_scaled(text, kDecimals);
  if (!number || *number / kScale >= std::numeric_limits<Bytes>::max() / unit) return std::nullopt;
  // The fraction is multiplied as a double. This is exact enough, since all units are smaller than
  // 2^53.
  const auto part = static_cast<double>(*number % kScale) / static_cast<double>(kScale);
  return *number / kScale * unit + std::llround(part * static_cast<double>(unit));
}

// Considers only powers of 1000 ("GB"). These are the units with two letters.
std::string exact_bytes(Bytes bytes) {
  const Unit* unit = nullptr;
  for (const Unit& larger : kUnits) {
    const bool thousands = larger.name.size() == 2;
    if (thousands && larger.bytes <= bytes) unit = &larger;
  }
  if (unit == nullptr) return std::to_string(bytes) + " B";
  const double count = static_cast<double>(bytes) / static_cast<double>(unit->bytes);
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.2f ", count);
  return std::string(text.data()) + std::string(unit->name);
}

}  // namespace weft
