// SPDX-License-Identifier: Apache-2.0
// Removes what the profiler cost. The profiler slows the host: recording one event takes a
// microsecond or more. But a prediction is about the job without the profiler. So this file
// estimates the cost from the recording and removes it.
#pragma once

#include "weft/base/units.h"
#include "weft/graph/graph.h"
#include "weft/trace/events.h"

namespace weft::cost {

/// Returns the host time that it cost on this rank to record one host event (framework op,
/// annotation or runtime call). This is estimated from wrapper ops, which do nothing but call one
/// other op. So nearly all of a wrapper's own time goes into recording the inner op. If the trace
/// has too few wrappers, returns a typical cost.
Nanos overhead_per_event(const trace::RankTrace& trace);

/// The result of overhead_per_event() for every rank of a run; the index is the rank number.
std::vector<Nanos> overhead_by_rank(const trace::Run& run);

/// Removes the cost of recording from every host op of `graph`. It shortens first the host work
/// before the op, and then the op itself. `per_event[rank]` is the cost of one event. At least a
/// quarter of the recorded time stays, because the estimate is an average, and some ops cost less
/// to record.
/// This function also shortens gaps between kernels on a stream. If a kernel is already queued when
/// the kernel before it ends, the profiler's time stamps lengthen the gap between the two kernels.
/// The function sets such a gap to its usual length without the profiler.
void remove_profiler_overhead(graph::Graph& graph, const std::vector<Nanos>& per_event);

/// Estimates host work in a job without communication. Communication uses processor time (sockets,
/// proxy threads), which slows the host work that runs at the same time. This function sets each
/// piece of host work to the time that it takes undisturbed. To find that time, it compares the
/// same piece of work in all recorded steps and on all ranks that run the same program.
void remove_host_disturbances(graph::Graph& graph);

}  // namespace weft::cost
