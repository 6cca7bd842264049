// SPDX-License-Identifier: Apache-2.0
// How a dimension is cut into parts by the digits of a device's position. Frameworks agree if the
// size is divisible, and use different rules if it is not.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "weft/reshard/layout/box.h"

namespace weft::reshard {

enum class SplitRule {
  kCeilFlat,    ///< XLA, Shardy, JAX: chunks of ceil(n / product of radices), by the combined index
  kCeilNested,  ///< PyTorch DTensor: chunks of ceil(n / radix), one radix after the other
  kBalanced,    ///< OneFlow: one radix after the other, the first n mod radix parts get one more
};

/// From "ceil_flat" and so on, as case files spell them; nullopt for other names.
std::optional<SplitRule> split_rule(std::string_view name);

/// A digit of a device's position. Lists of digits are most significant first.
struct Digit {
  std::int64_t value = 0, radix = 1;
};

/// The part of `whole` that a device with these digits holds.
Interval split(Interval whole, std::span<const Digit> digits, SplitRule rule);

}  // namespace weft::reshard
