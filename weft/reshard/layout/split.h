// SPDX-License-Identifier: Apache-2.0
// Cuts a dimension into parts, according to the digits of a device's position. If the size of the
// dimension is divisible, all frameworks cut it in the same way. If it is not divisible, each
// framework has its own rule.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "weft/reshard/layout/box.h"

namespace weft::reshard {

enum class SplitRule {
  kCeilFlat,    ///< XLA, Shardy, JAX: cuts once, into chunks of ceil(n / product of radices)
  kCeilNested,  ///< PyTorch DTensor: cuts once per digit, into chunks of ceil(n / radix)
  kBalanced,    ///< OneFlow: cuts once per digit; the first n mod radix parts get one element more
};

/// The rule with this name, as case files spell it: "ceil_flat", "ceil_nested", "balanced". nullopt
/// for other names.
std::optional<SplitRule> split_rule(std::string_view name);

/// A digit of a device's position. Lists of digits are most significant first.
struct Digit {
  std::int64_t value = 0, radix = 1;
};

/// The part of `whole` that a device with these digits holds.
Interval split(Interval whole, std::span<const Digit> digits, SplitRule rule);

}  // namespace weft::reshard
