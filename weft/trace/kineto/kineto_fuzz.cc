// SPDX-License-Identifier: Apache-2.0
// Any bytes are a trace or an Error; the windows they come in change nothing; indices stay in
// range.
#include <cstdint>

#include "weft/base/check.h"
#include "weft/trace/fuzz_checks.h"
#include "weft/trace/kineto/kineto.h"

using namespace weft;
using namespace weft::trace;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto reader = make_kineto_reader();
  std::size_t events[2] = {0, 0};
  std::int64_t bytes[2] = {0, 0};
  const std::size_t pieces[2] = {std::size_t{1} << 20, 1 + size % 7};
  for (int i = 0; i < 2; ++i) {
    const auto source = memory_source(text, "trace_rank_1.json", pieces[i]);
    Diagnostics diagnostics;
    const auto traces = reader->read(*source, {}, diagnostics);
    bytes[i] = diagnostics.count_of("control-characters") + diagnostics.count_of("cut-file");
    if (!traces) continue;
    check_indices(traces->front());
    events[i] = traces->front().events.size();
  }
  WEFT_CHECK(events[0] == events[1]);
  WEFT_CHECK(bytes[0] == bytes[1]);
  reader->recognise(text);
  return 0;
}
