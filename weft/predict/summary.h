// SPDX-License-Identifier: Apache-2.0
// Everything that `weft replay` tells about a job, in one value: the command prints it, its JSON is
// the same for the command and for Python.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "weft/base/diagnostics.h"
#include "weft/predict/predict.h"
#include "weft/sim/memory.h"
#include "weft/sim/stragglers.h"

namespace weft::predict {

/// The peak of a rank's fullest device.
struct RankMemory {
  std::int32_t device = -1;
  sim::MemorySource source = sim::MemorySource::kAllocator;
  sim::MemoryPeak peak;
  Nanos since_start = 0;  ///< peak.time, counted from the start of the rank's first event
};

/// nullopt: the recording tells nothing about memory of devices.
std::optional<RankMemory> peak_memory(const trace::RankTrace& trace);

struct RankSummary {
  std::int32_t rank = -1;
  std::vector<Nanos> recorded, replayed;  ///< by step; -1 where the rank has no work in the step
  std::vector<Nanos> baseline, predicted;
  Nanos mean_baseline = 0, mean_predicted = 0;
  trace::ClockFit clock;
  std::optional<RankMemory> memory;  ///< nullopt: unknown
};

/// One question and its answer.
struct Answer {
  std::string what_if;
  StepPrediction prediction;
};

struct ReplaySummary {
  std::string label;
  std::int32_t world = -1;
  bool from_phases = false;
  bool has_links = false;           ///< transfer times were measured, not taken from the recording
  bool links_unused = false;        ///< tables were given, but fit no transfer of this job
  std::vector<std::int64_t> steps;  ///< that were learnt from
  std::vector<RankSummary> ranks;
  Nanos recorded_step = 0, replayed_step = 0;  ///< mean of the slowest rank
  double worst_error = 0;                      ///< of the self-replay, over ranks and steps
  std::vector<std::string> what_if;            ///< as asked
  Prediction prediction;
  std::vector<Answer> worth_knowing;               ///< empty where what-ifs were asked
  std::optional<sim::StragglerReport> stragglers;  ///< nullopt: one rank only
  std::size_t ops = 0, edges = 0, inferred_edges = 0;

  /// The first of the shortest steps among worth_knowing that somebody could really choose (sizes
  /// of buckets); nullptr if there is none, or where transfer times are too vague to tell.
  const Answer* best_choice() const;
};

/// Replays and predicts. Without what-ifs, those worth knowing are answered as well.
Result<ReplaySummary> summarise(const Job& job, const PredictOptions& options);

/// Parses questions. What is refused is refused with the list of what this recording can answer.
Result<std::vector<WhatIf>> parse_what_ifs(const Job& job, const std::vector<std::string>& texts,
                                           const std::vector<cost::LinkTable>& links);

/// Schema: docs/reference/cli.md.
std::string summary_json(const ReplaySummary& summary, const Diagnostics& diagnostics);

}  // namespace weft::predict
