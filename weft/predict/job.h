// SPDX-License-Identifier: Apache-2.0
// A recorded job, ready for questions: the clocks of its ranks are aligned, its collectives matched
// and its graph built. All commands turn paths into a Job in the same way, with these functions.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "weft/base/diagnostics.h"
#include "weft/base/result.h"
#include "weft/graph/build_phases.h"
#include "weft/graph/graph.h"
#include "weft/trace/clock/align.h"
#include "weft/trace/events.h"
#include "weft/trace/match/match.h"
#include "weft/trace/runs/load.h"

namespace weft::predict {

struct Job {
  trace::Run run;  ///< all times on one clock
  trace::Alignment alignment;
  std::vector<trace::Match> matches;
  graph::Graph graph;  ///< as recorded; its replay gives the recorded times
  /// For op timelines: pipeline stage and replica of each rank. Empty for profiler traces, whose
  /// ranks all run the same program.
  std::vector<graph::Worker> workers;
  bool from_phases = false;  ///< built from an op timeline: no host ops, launches or profiler
};

/// Aligns clocks, matches collectives and builds the graph. An Error (kBadInput) if much of a rank
/// is missing, or if only some ranks mark steps.
Result<Job> make_job(trace::Run run, Diagnostics& diagnostics);

/// The same for a recording that has one run. If it has several, the result is an Error (kUsage)
/// that lists them.
Result<Job> make_job(trace::Recording recording, Diagnostics& diagnostics);

/// Loads the inputs and makes a job of their only run, or of the run that `options.run` names.
Result<Job> open_job(const std::vector<std::string>& inputs, const trace::LoadOptions& options,
                     Diagnostics& diagnostics);

}  // namespace weft::predict
