// SPDX-License-Identifier: Apache-2.0
// What every reader owes to those behind it. For fuzz targets.
#pragma once

#include "weft/base/check.h"
#include "weft/trace/events.h"

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

}  // namespace weft::trace
