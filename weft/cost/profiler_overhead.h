// SPDX-License-Identifier: Apache-2.0
// The profiler slows the host down: recording one event costs a microsecond or more. A prediction
// is about the job without profiler, so this cost is estimated from the recording and removed.
#pragma once

#include "weft/base/units.h"
#include "weft/graph/graph.h"
#include "weft/trace/events.h"

namespace weft::cost {

/// The host time that recording one host event (framework op, annotation, runtime call) cost on
/// this rank. It is estimated from wrapper ops, which do nothing but call one other op: nearly all
/// of a wrapper's own time is the recording of the inner op. If the trace has too few wrappers, the
/// result is a usual value.
Nanos overhead_per_event(const trace::RankTrace& trace);

/// The same for all ranks of a run, by rank number.
std::vector<Nanos> overhead_by_rank(const trace::Run& run);

/// Removes the overhead from every host op of `graph`: first from the host work before the op, then
/// from the op itself. `per_event` is by rank number. At least a quarter of the recorded time
/// stays, because the estimate is an average and recording single ops cost less. Gaps between
/// kernels that were already queued shrink to the gap of a stream without the profiler's time
/// stamps.
void remove_profiler_overhead(graph::Graph& graph, const std::vector<Nanos>& per_event);

/// For a job without communication. Communication takes processor time (sockets, proxy threads)
/// and thereby slows down host work that runs at the same time. Sets each piece of host work to the
/// time that it takes undisturbed, judged by the same piece of work in all recorded steps and on
/// all ranks that run the same program.
void remove_host_disturbances(graph::Graph& graph);

}  // namespace weft::cost
