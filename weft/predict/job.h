// SPDX-License-Identifier: Apache-2.0
// Makes a Job from a recording. A Job is a recorded job about which questions can be asked: the
// clocks of its ranks are aligned, its collectives are matched, and its graph is built. All
// commands use these functions to make a Job from paths.
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
  trace::Run run;  ///< the recording; all its times are on one clock
  trace::Alignment alignment;
  std::vector<trace::Match> matches;
  graph::Graph graph;  ///< the recorded job; a replay of it gives the recorded times
  /// For op timelines: the pipeline stage and replica of each rank. Empty for profiler traces,
  /// because there all ranks run the same program.
  std::vector<graph::Worker> workers;
  /// True: built from an op timeline, which has no host ops and no launches and was not made by a
  /// profiler.
  bool from_phases = false;
};

/// Makes a job from a run: aligns clocks, matches collectives and builds the graph. An Error
/// (kBadInput) if much of a rank is missing, or if some ranks mark steps and other ranks do not.
Result<Job> make_job(trace::Run run, Diagnostics& diagnostics);

/// Makes a job from a recording that has one run. If there are several runs, the result is an Error
/// (kUsage) that lists them.
Result<Job> make_job(trace::Recording recording, Diagnostics& diagnostics);

/// Loads the inputs and makes a job from the run that `options.run` names. If it names none, the
/// inputs must have only one run.
Result<Job> open_job(const std::vector<std::string>& inputs, const trace::LoadOptions& options,
                     Diagnostics& diagnostics);

}  // namespace weft::predict
