// SPDX-License-Identifier: Apache-2.0
// Any bytes are a trace or an Error; the windows they come in change nothing; indices stay in
// range.
#include <cstdint>

#include "weft/base/check.h"
#include "weft/trace/kineto/kineto.h"

namespace {

using namespace weft;
using namespace weft::trace;

void check_indices(const RankTrace& t) {
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
  for (const HostOpDetail& d : t.host_ops) {
    WEFT_CHECK(d.collective == kNone || d.collective < t.collectives.size());
  }
}

}  // namespace

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
