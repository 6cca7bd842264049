// SPDX-License-Identifier: Apache-2.0
// Fuzzer: any bytes give either an Error, or plans that passed the replay and that are written back
// as the text they are read from.
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
