// SPDX-License-Identifier: Apache-2.0
// Reads what a Kineto file says about the recording outside its events: rank, groups, devices,
// settings of the profiler. The keys may stand before or after "traceEvents", so the facts are
// complete only when the whole file has been read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/json/scanner.h"
#include "weft/trace/events.h"

namespace weft::trace::kineto {

/// The largest world size that is believed; a larger number in a file is treated as damage.
constexpr std::int32_t kLargestWorld = 1'000'000;

struct FileFacts {
  std::int32_t rank = -1;
  std::int32_t world = -1;
  bool implausible = false;  ///< the file has an impossible rank or world, which was left unknown
  std::vector<ProcessGroup> groups;
  std::vector<std::string> devices;
  Nanos base_time = 0;  ///< add this to every timestamp to get the time since 1970
  std::string trace_name;
  std::string host;
  // Whether the profiler was told to record these.
  bool shapes = false;
  bool stacks = false;
  bool memory = false;
};

/// Consumes the value of any top-level key and stores it if Weft uses it.
void read_fact(JsonScanner& scanner, std::string_view key, FileFacts& facts);

/// Returns the integers in a text such as "[0, 1, 2]". Returns an empty list if PyTorch shortened
/// the text with "...", because an incomplete list of ranks would be misleading.
std::vector<std::int32_t> parse_ranks(std::string_view text);

}  // namespace weft::trace::kineto
