// SPDX-License-Identifier: Apache-2.0
// The profiler slows the host down: recording an event costs it a microsecond or more. A prediction
// is about the job without profiler, so this cost is estimated from the recording and taken out.
#pragma once

#include "weft/base/units.h"
#include "weft/graph/graph.h"
#include "weft/trace/events.h"

namespace weft::cost {

/// Host time that recording one host event (framework op, annotation, runtime call) cost on this
/// rank. The yardstick are ops that do nothing but call one other op: nearly all of their own time
/// is the recording of the inner one. Where there are too few of them, a usual value is returned.
Nanos overhead_per_event(const trace::RankTrace& trace);

/// The same for all ranks of a run, by rank number.
std::vector<Nanos> overhead_by_rank(const trace::Run& run);

/// Takes the overhead out of every host op of `graph`: out of the host work before it first, then
/// out of the call itself. `per_event` by rank number. At least a quarter of the recorded time
/// stays: the estimate is an average, and single ops were cheaper. Gaps between kernels that wait
/// in line shrink to what a stream needs without the profiler's time stamps.
void remove_profiler_overhead(graph::Graph& graph, const std::vector<Nanos>& per_event);

/// Communication takes processor time too (sockets, proxy threads) and slows the host beside it.
/// For a job without communication each piece of host work is set to what it took when it was not
/// disturbed, judged by the same piece in all recorded steps and in all ranks that run the same
/// program.
void remove_host_disturbances(graph::Graph& graph);

}  // namespace weft::cost
