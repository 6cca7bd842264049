// SPDX-License-Identifier: Apache-2.0
// Writes counts for messages, with the noun in singular or plural.
#pragma once

#include <concepts>
#include <string>
#include <string_view>

namespace weft {

/// Returns a count with its noun: "1 device", "4 devices", "2 micro-batches".
std::string counted(std::integral auto count, std::string_view what) {
  const char* end = count == 1 ? "" : what.ends_with("ch") ? "es" : "s";
  return std::to_string(count) + " " + std::string(what) + end;
}

}  // namespace weft
