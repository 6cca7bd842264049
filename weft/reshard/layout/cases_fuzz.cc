// SPDX-License-Identifier: Apache-2.0
// Fuzzes the reader of case files. Any bytes give either an Error or cases. A case is refused, or
// is too large to try, or gets a plan that the two checks of replay.h accept.
#include <cstdint>

#include "weft/base/check.h"
#include "weft/reshard/check/outcome.h"
#include "weft/reshard/check/replay.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft::reshard;
  const auto cases = parse_cases({reinterpret_cast<const char*>(data), size}, "fuzz");
  if (!cases) return 0;
  for (const Case& item : *cases) {
    if (!item.problem || item.problem->devices.size() > 64 || !small_enough(*item.problem))
      continue;
    PlannerOptions options;
    options.link.message = 2'000'000;
    options.search_rounds = 500;
    const Outcome outcome = plan_and_check(item, options, 0);
    WEFT_CHECK(outcome.status != Outcome::Status::kWrong);
  }
  return 0;
}
