// SPDX-License-Identifier: Apache-2.0
// Reads arbitrary bytes as a plan. The result must be an Error, or a plan that every export writes
// or refuses, but never a crash.
#include <cstdint>

#include "weft/base/check.h"
#include "weft/pipeline/exports/json.h"
#include "weft/pipeline/exports/megatron.h"
#include "weft/pipeline/exports/torch.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft::pipeline;
  const auto plan = parse_plan({reinterpret_cast<const char*>(data), size}, "fuzz");
  if (!plan) return 0;
  const auto scheduled = exports::scheduled_plan(*plan);
  if (!scheduled) return 0;
  WEFT_CHECK(!exports::json_schedule(*scheduled).text.empty());
  const auto layout = exports::megatron_layout(*scheduled);
  WEFT_CHECK(!layout || layout->text.ends_with("L\n"));
  const auto plain = exports::torch_csv(*scheduled, exports::TorchFormat::kComputeOnly, {});
  const auto full = exports::torch_csv(*scheduled, exports::TorchFormat::kComputeComms, {});
  WEFT_CHECK(plain.has_value() == full.has_value());
  WEFT_CHECK(!full || full->text.size() > plain->text.size());
  return 0;
}
