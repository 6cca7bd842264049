// SPDX-License-Identifier: Apache-2.0
// Checks that any input gives a set of ranks or an Error, in bounded time.
#include <cstdint>

#include "weft/trace/formats/nsys/nsys.h"
#include "weft/trace/fuzz_checks.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto reader = weft::trace::make_nsys_reader();
  const auto source = weft::memory_source(bytes, "job.sqlite", 1 + size % 4096);
  weft::Diagnostics diagnostics;
  reader->recognise(bytes);
  const auto traces = reader->read(*source, {}, diagnostics);
  if (!traces) return 0;
  for (const weft::trace::RankTrace& trace : *traces) weft::trace::check_indices(trace);
  return 0;
}
