// SPDX-License-Identifier: Apache-2.0
// What a Kineto file says about itself outside its events. The keys may stand before or behind
// "traceEvents", so the answers count only once the whole file was read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/json/scanner.h"
#include "weft/trace/events.h"

namespace weft::trace::kineto {

/// More ranks than any job has: a larger number is damage.
constexpr std::int32_t kLargestWorld = 1'000'000;

struct FileFacts {
  std::int32_t rank = -1;
  std::int32_t world = -1;
  bool implausible = false;  ///< a rank or world was claimed that cannot be, and left unknown
  std::vector<ProcessGroup> groups;
  std::vector<std::string> devices;
  Nanos base_time = 0;  ///< to add to every timestamp
  std::string trace_name;
  std::string host;
  bool shapes = false;
  bool stacks = false;
  bool memory = false;
};

/// Takes the value of one top-level key, whatever it is.
void read_fact(JsonScanner& scanner, std::string_view key, FileFacts& facts);

/// The integers in a text such as "[0, 1, 2]"; one that was shortened with "..." gives none.
std::vector<std::int32_t> parse_ranks(std::string_view text);

}  // namespace weft::trace::kineto
