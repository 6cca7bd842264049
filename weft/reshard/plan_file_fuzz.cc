// SPDX-License-Identifier: Apache-2.0
// Fuzzes the reader of plan files. Any bytes give either an Error or plans that passed the replay.
// If such plans are written, read and written again, the two texts are equal.
#include <cstdint>

#include "weft/base/check.h"
#include "weft/reshard/plan_file.h"
#include "weft/reshard/search/planner.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft::reshard;
  const auto arrays = parse_plan_file({reinterpret_cast<const char*>(data), size}, "fuzz");
  if (!arrays) return 0;
  for (const PlannedArray& array : *arrays) least_time(array.problem, array.link);
  const std::string text = print_plan_file(*arrays);
  const auto again = parse_plan_file(text, "fuzz");
  WEFT_CHECK(again && print_plan_file(*again) == text);
  return 0;
}
