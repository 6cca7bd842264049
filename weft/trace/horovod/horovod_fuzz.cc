// SPDX-License-Identifier: Apache-2.0
// Any bytes are traces or an Error; the windows they come in change nothing; indices stay in range.
#include <cstdint>
#include <string_view>

#include "weft/base/check.h"
#include "weft/trace/fuzz_checks.h"
#include "weft/trace/horovod/reader.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto reader = trace::make_horovod_reader();
  std::size_t events[2] = {0, 0};
  const std::size_t pieces[2] = {std::size_t{1} << 20, 1 + size % 7};
  for (int i = 0; i < 2; ++i) {
    const auto source = memory_source(text, "timeline.json", pieces[i]);
    Diagnostics diagnostics;
    const auto traces = reader->read(*source, {}, diagnostics);
    if (!traces) continue;
    for (const trace::RankTrace& rank : *traces) {
      trace::check_indices(rank);
      events[i] += rank.events.size();
    }
  }
  WEFT_CHECK(events[0] == events[1]);
  reader->recognise(text);
  return 0;
}
