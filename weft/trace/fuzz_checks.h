// SPDX-License-Identifier: Apache-2.0
// For fuzz targets: checks the guarantees that every reader must give.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "weft/base/check.h"
#include "weft/trace/events.h"
#include "weft/trace/reader.h"
#include "weft/trace/verify.h"

namespace weft::trace {

/// Checks that a trace is valid. A reader must give a valid trace even if the bytes that it read
/// are damaged.
inline void check_indices(const RankTrace& trace) { WEFT_CHECK(verify(trace).has_value()); }

/// Checks a reader on any input. The result must be traces or an Error. All indices must be in
/// range. The size of the windows in which the bytes arrive must not change the result.
inline void check_reader(const Reader& reader, const std::uint8_t* data, std::size_t size,
                         const std::string& file_name) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  std::size_t events[2] = {0, 0};
  std::int64_t repairs[2] = {0, 0};
  const std::size_t windows[2] = {std::size_t{1} << 20, 1 + size % 7};
  for (int i = 0; i < 2; ++i) {
    const auto source = memory_source(bytes, file_name, windows[i]);
    Diagnostics diagnostics;
    const auto traces = reader.read(*source, {}, diagnostics);
    repairs[i] = diagnostics.count_of("control-characters") + diagnostics.count_of("cut-file");
    if (!traces) continue;
    WEFT_CHECK(!traces->empty());
    for (const RankTrace& trace : *traces) {
      check_indices(trace);
      events[i] += trace.events.size();
    }
  }
  WEFT_CHECK(events[0] == events[1] && repairs[0] == repairs[1]);
  reader.recognise(bytes);
}

}  // namespace weft::trace
