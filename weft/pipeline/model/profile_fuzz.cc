// SPDX-License-Identifier: Apache-2.0
// Feeds arbitrary bytes to the profile reader. It must return an Error or a profile whose layers
// can be ordered and planned.
#include <cstdint>

#include "weft/base/check.h"
#include "weft/pipeline/rivals/pipedream.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft::pipeline;
  const auto profile = parse_profile({reinterpret_cast<const char*>(data), size}, "fuzz", "2x3");
  if (!profile) return 0;
  WEFT_CHECK(linear_order(*profile).size() == profile->layers.size());
  if (profile->layers.size() > 12) return 0;
  const auto answer = solve_pipedream(*profile, {{2, 1'000'000'000}, {2, 100'000'000}});
  if (answer) WEFT_CHECK(!answer->stages.empty());
  return 0;
}
