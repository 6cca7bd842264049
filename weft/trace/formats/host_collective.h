// SPDX-License-Identifier: Apache-2.0
// Adds collectives that a recording shows on the host only (MPI calls, Horovod responses).
#pragma once

#include "weft/trace/events.h"

namespace weft::trace {

/// Adds one collective to `trace` as an annotation on the host lane `lane`. `name` is the label of
/// the event; `collective` holds its kind, size and group. All name ids must be ids of trace.names.
/// Times are relative to the epoch of `trace`.
inline void add_host_collective(RankTrace& trace, const CollectiveDetail& collective, NameId name,
                                std::uint32_t lane, Nanos start, Nanos duration) {
  HostOpDetail detail;
  detail.collective = static_cast<std::uint32_t>(trace.collectives.size());
  trace.collectives.push_back(collective);
  trace.events.add(EventKind::kAnnotation, start, duration, name, lane, 0,
                   static_cast<std::uint32_t>(trace.host_ops.size()));
  trace.host_ops.push_back(detail);
}

}  // namespace weft::trace
