// SPDX-License-Identifier: Apache-2.0
#include "weft/reshard/layout/split.h"

namespace weft::reshard {
namespace {

/// Part `index` of `count` chunks of ceil(n / count) elements. The last chunks may be shorter or
/// empty.
Interval chunk(const Interval& whole, std::int64_t index, std::int64_t count) {
  const std::int64_t size = whole.length() / count + (whole.length() % count != 0);
  return {std::min(whole.low + index * size, whole.high),
          std::min(whole.low + (index + 1) * size, whole.high)};
}

/// Part `index` of `count` parts whose lengths differ by at most one. Longer parts come first.
Interval balanced(const Interval& whole, std::int64_t index, std::int64_t count) {
  const std::int64_t n = whole.length(), size = n / count, more = n % count;
  const std::int64_t low = whole.low + index * size + std::min(index, more);
  return {low, low + size + (index < more ? 1 : 0)};
}

}  // namespace

std::optional<SplitRule> split_rule(std::string_view name) {
  if (name == "ceil_flat") return SplitRule::kCeilFlat;
  if (name == "ceil_nested") return SplitRule::kCeilNested;
  if (name == "balanced") return SplitRule::kBalanced;
  return std::nullopt;
}

Interval split(Interval whole, std::span<const Digit> digits, SplitRule rule) {
  // The flat rule cuts once: all digits together, read as one number, are the index of the chunk.
  // The nested rules cut once per digit, and round at each of these cuts.
  if (rule == SplitRule::kCeilFlat) {
    Digit combined;
    for (const Digit& digit : digits) {
      combined = {combined.value * digit.radix + digit.value, combined.radix * digit.radix};
    }
    return chunk(whole, combined.value, combined.radix);
  }
  for (const Digit& digit : digits) {
    whole = rule == SplitRule::kCeilNested ? chunk(whole, digit.value, digit.radix)
                                           : balanced(whole, digit.value, digit.radix);
  }
  return whole;
}

}  // namespace weft::reshard
