// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weft/trace/events.h"

namespace weft::trace {

/// Adds a collective that runs on the host to a rank, with what is known about it.
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
