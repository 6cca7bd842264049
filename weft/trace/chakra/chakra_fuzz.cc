// SPDX-License-Identifier: Apache-2.0
// Any bytes are traces or an Error; the windows they come in change nothing; indices stay in range.
#include <cstdint>

#include "weft/trace/chakra/chakra.h"
#include "weft/trace/fuzz_checks.h"

using namespace weft;
using namespace weft::trace;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto reader = make_chakra_reader();
  std::size_t events[2] = {0, 0};
  const std::size_t pieces[2] = {std::size_t{1} << 20, 1 + size % 7};
  for (int i = 0; i < 2; ++i) {
    const auto source = memory_source(bytes, "job.1.et", pieces[i]);
    Diagnostics diagnostics;
    const auto traces = reader->read(*source, {}, diagnostics);
    if (!traces) continue;
    WEFT_CHECK(!traces->empty());
    for (const RankTrace& trace : *traces) {
      check_indices(trace);
      events[i] += trace.events.size();
    }
  }
  WEFT_CHECK(events[0] == events[1]);
  reader->recognise(bytes);
  return 0;
}
