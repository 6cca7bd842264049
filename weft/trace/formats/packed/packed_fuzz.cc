// SPDX-License-Identifier: Apache-2.0
#include "weft/trace/formats/packed/packed.h"
#include "weft/trace/fuzz_checks.h"

/// Checks that any input gives a valid trace or an Error, and that a valid trace can be packed and
/// unpacked again. Checksums are ignored, because the fuzzer cannot guess them.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  Diagnostics diagnostics;
  const auto trace =
      trace::unpack(bytes, "r0.weft", diagnostics, trace::packed::Checksums::kIgnore);
  if (!trace) {
    WEFT_CHECK(!trace.error().message.empty());
    return 0;
  }
  trace::check_indices(*trace);
  const auto again = trace::unpack(trace::pack(*trace), "r0.weft", diagnostics);
  WEFT_CHECK(again && again->events.start == trace->events.start &&
             again->names.size() == trace->names.size() &&
             again->collectives.size() == trace->collectives.size());
  return 0;
}
