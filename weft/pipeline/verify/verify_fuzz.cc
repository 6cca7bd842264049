// SPDX-License-Identifier: Apache-2.0
// Checks arbitrary bytes as a plan file. The result must be an Error or findings, but never a
// crash.
#include <cstdint>

#include "weft/base/check.h"
#include "weft/pipeline/verify/plan_data.h"
#include "weft/pipeline/verify/verify.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft::pipeline::verify;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto plan = parse_plan(text, "fuzz");
  // Large plans only make the fuzzer slow.
  if (!plan || plan->layers.size() > 6 || plan->devices > 5 || plan->micro_batches > 50) return 0;
  const auto findings = verify_plan_text(text, "fuzz");
  WEFT_CHECK(findings && !findings->empty());
  return 0;
}
