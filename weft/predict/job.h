// SPDX-License-Identifier: Apache-2.0
// A recorded job, ready to be asked questions: its ranks on one clock, its collectives matched, its
// graph built. The way from paths to a Job is the same for every verb, so it is here once.
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
  trace::Run run;  ///< aligned
  trace::Alignment alignment;
  std::vector<trace::Match> matches;
  graph::Graph graph;  ///< as recorded; its replay gives the recorded times
  /// Op timelines: where each rank sits among pipeline stages and replicas. Empty for profiler
  /// traces, whose ranks all run the same program.
  std::vector<graph::Worker> workers;
  bool from_phases = false;  ///< built from an op timeline: no hosts, no launches, no profiler
};

/// Takes one run of a recording all the way to its graph.
Result<Job> make_job(trace::Run run, Diagnostics& diagnostics);

/// The same for a recording of one run. One of several runs is an Error (kUsage) that lists them.
Result<Job> make_job(trace::Recording recording, Diagnostics& diagnostics);

/// Loads, and makes a job of the one run there is or that `options.run` names.
Result<Job> open_job(const std::vector<std::string>& inputs, const trace::LoadOptions& options,
                     Diagnostics& diagnostics);

}  // namespace weft::predict
