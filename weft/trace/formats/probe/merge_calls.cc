// SPDX-License-Identifier: Apache-2.0
// Copies events with their detail records from one RankTrace to another. Times are converted to the
// epoch of the profile. The log and the profile use the wall clock of the same host, so no clock
// has to be aligned.
#include "weft/trace/formats/probe/merge_calls.h"

#include <algorithm>
#include <string>

namespace weft::trace::probe {
namespace {

constexpr DiagnosticKind kMerged{"calls-attached", Severity::kInfo,
                                 "MPI calls were taken from the log of the same process",
                                 "nothing needs to be done"};

/// Returns the lane of the same thread in `trace`. Adds this lane if `trace` does not have it.
std::uint32_t lane_for(RankTrace& trace, const Lane& wanted) {
  for (std::uint32_t i = 0; i < trace.lanes.size(); ++i) {
    const Lane& lane = trace.lanes[i];
    if (!lane.on_device && lane.pid == wanted.pid && lane.tid == wanted.tid) return i;
  }
  trace.lanes.push_back(wanted);
  return static_cast<std::uint32_t>(trace.lanes.size() - 1);
}

/// Whether the profiler recorded MPI calls itself. PyTorch calls them "mpi:...", like the probe.
bool has_mpi(const RankTrace& trace) {
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    if (trace.names.text(trace.events.name[i]).starts_with("mpi:")) return true;
  }
  return false;
}

}  // namespace

void merge_calls(RankTrace& trace, const RankTrace& calls, Diagnostics& diagnostics) {
  if (has_mpi(trace)) return;
  Nanos last = 0;
  for (std::size_t i = 0; i < trace.events.size(); ++i) last = std::max(last, trace.events.end(i));
  const Events& events = calls.events;
  std::int64_t merged = 0;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const Nanos start = events.start[i] + (calls.epoch - trace.epoch);
    if (start < 0 || start > last) continue;
    // Names are numbers of the trace's own interner, so every name has to be interned again.
    std::uint32_t detail = kNone;
    if (events.detail[i] != kNone) {
      HostOpDetail op = calls.host_ops[events.detail[i]];
      if (op.collective != kNone) {
        CollectiveDetail collective = calls.collectives[op.collective];
        for (NameId* name : {&collective.name, &collective.dtype, &collective.group}) {
          *name = trace.names.intern(calls.names.text(*name));
        }
        op.collective = static_cast<std::uint32_t>(trace.collectives.size());
        trace.collectives.push_back(collective);
      }
      detail = static_cast<std::uint32_t>(trace.host_ops.size());
      trace.host_ops.push_back(op);
    }
    trace.events.add(events.kind[i], start, events.duration[i],
                     trace.names.intern(calls.names.text(events.name[i])),
                     lane_for(trace, calls.lanes[events.lane[i]]), 0, detail);
    ++merged;
  }
  if (merged == 0) return;
  for (const ProcessGroup& group : calls.groups) trace.groups.push_back(group);
  trace.facts.collective_args = true;
  diagnostics.add(kMerged, calls.file + ": rank " + std::to_string(trace.rank), merged);
}

}  // namespace weft::trace::probe
