// SPDX-License-Identifier: Apache-2.0
// "Did you mean ...?" for mistyped verbs, flags, what-ifs and other names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weft {

/// Returns the least number of steps that turn `a` into `b`. A step inserts, deletes or replaces a
/// letter, or swaps two neighbouring letters (the restricted Damerau-Levenshtein distance). O(|a|
/// |b|).
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The name in `known` that is nearest to `typed`, or "" if none is near enough.
std::string nearest(std::string_view typed, const std::vector<std::string>& known);

/// For example "; did you mean 'info'?"; "" if no name is near enough.
std::string did_you_mean(std::string_view typed, const std::vector<std::string>& known);

}  // namespace weft
