// SPDX-License-Identifier: Apache-2.0
// How a dimension is cut among the digits of a device, where it need not divide.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "weft/reshard/layout/box.h"

namespace weft::reshard {

/// All agree where everything divides.
enum class SplitRule {
  kCeilFlat,    ///< XLA, Shardy, JAX: chunks of ceil(n / product of radices), by the combined index
  kCeilNested,  ///< PyTorch DTensor: chunks of ceil(n / radix), one radix after the other
  kBalanced,    ///< OneFlow: one radix after the other, the first n mod radix parts get one more
};

/// "ceil_flat" and so on, as case files spell them.
std::optional<SplitRule> split_rule(std::string_view name);

/// A digit of a device's position, most significant first in a list of them.
struct Digit {
  std::int64_t value = 0, radix = 1;
};

/// The part of `whole` that the digits select.
Interval split(Interval whole, std::span<const Digit> digits, SplitRule rule);

}  // namespace weft::reshard
