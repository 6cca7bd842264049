// SPDX-License-Identifier: Apache-2.0
// Any bytes are a set of ranks or an Error, whatever windows they come in.
#include <cstdint>

#include "weft/trace/fuzz_checks.h"
#include "weft/trace/nccl/nccl.h"

namespace {

std::size_t events_of(const weft::trace::Reader& reader, std::string_view text, std::size_t piece) {
  const auto source = weft::memory_source(text, "job.jsonl", piece);
  weft::Diagnostics diagnostics;
  const auto traces = reader.read(*source, {}, diagnostics);
  if (!traces) return 0;
  std::size_t events = 0;
  for (const weft::trace::RankTrace& trace : *traces) {
    weft::trace::check_indices(trace);
    events += trace.events.size();
  }
  return events;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const auto& reader :
       {weft::trace::make_nccl_profiler_reader(), weft::trace::make_nccl_inspector_reader()}) {
    reader->recognise(text);
    WEFT_CHECK(events_of(*reader, text, 1u << 20) == events_of(*reader, text, 1 + size % 7));
  }
  return 0;
}
