// SPDX-License-Identifier: Apache-2.0
// What every reader owes to those behind it. For fuzz targets.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "weft/base/check.h"
#include "weft/trace/events.h"
#include "weft/trace/reader.h"

namespace weft::trace {

/// Whatever bytes it was made of: columns have one length, indices are in range, times in order.
inline void check_indices(const RankTrace& t) {
  const Events& e = t.events;
  const std::size_t n = e.size();
  WEFT_CHECK(n > 0 && e.duration.size() == n && e.name.size() == n && e.lane.size() == n);
  WEFT_CHECK(e.correlation.size() == n && e.detail.size() == n && e.external_id.size() == n);
  WEFT_CHECK(e.kind.size() == n);
  for (std::size_t i = 0; i < n; ++i) {
    WEFT_CHECK(e.start[i] >= 0 && e.duration[i] >= 0 && e.end(i) >= e.start[i]);
    WEFT_CHECK(e.lane[i] < t.lanes.size());
    WEFT_CHECK(e.name[i] < t.names.size());
    if (e.detail[i] == kNone) continue;
    switch (e.kind[i]) {
      case EventKind::kHostOp:
      case EventKind::kAnnotation:
        WEFT_CHECK(e.detail[i] < t.host_ops.size());
        break;
      case EventKind::kKernel:
        WEFT_CHECK(e.detail[i] < t.kernels.size());
        break;
      case EventKind::kMemcpy:
      case EventKind::kMemset:
        WEFT_CHECK(e.detail[i] < t.copies.size());
        break;
      case EventKind::kSync:
        WEFT_CHECK(e.detail[i] < t.syncs.size());
        break;
      case EventKind::kMemory:
        WEFT_CHECK(e.detail[i] < t.memory.size());
        break;
      default:
        WEFT_CHECK(false);
    }
  }
  const auto check_collective = [&](std::uint32_t index) {
    WEFT_CHECK(index == kNone || index < t.collectives.size());
  };
  for (const HostOpDetail& d : t.host_ops) check_collective(d.collective);
  for (const KernelDetail& d : t.kernels) check_collective(d.collective);
  for (const Dependency& d : t.dependencies) WEFT_CHECK(d.before < n && d.after < n);
  for (const StepMark& step : t.steps) {
    WEFT_CHECK(step.lane < t.lanes.size() && step.start <= step.end);
  }
}

/// Any bytes are traces or an Error, indices stay in range, and the windows the bytes come in
/// change nothing.
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
