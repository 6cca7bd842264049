// SPDX-License-Identifier: Apache-2.0
// "Did you mean ...?" for mistyped verbs, flags, what-ifs and other names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weft {

/// Insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The nearest of `known`, or "" if none is near enough to be what was meant.
std::string nearest(std::string_view typed, const std::vector<std::string>& known);

/// "; did you mean 'info'?" or "".
std::string did_you_mean(std::string_view typed, const std::vector<std::string>& known);

}  // namespace weft
