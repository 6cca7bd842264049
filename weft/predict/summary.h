// SPDX-License-Identifier: Apache-2.0
// Defines ReplaySummary, a value that holds all results of `weft replay` about a job. The command
// prints this value. The command and the Python package write the same JSON for it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "weft/base/diagnostics.h"
#include "weft/predict/predict.h"
#include "weft/predict/unprofiled.h"
#include "weft/sim/memory.h"
#include "weft/sim/stragglers.h"

namespace weft::predict {

/// The memory peak of one rank. If the rank uses several devices, this is the highest peak.
struct RankMemory {
  std::int32_t device = -1;  ///< -1: host memory, because the rank uses no device
  sim::MemorySource source = sim::MemorySource::kAllocator;
  sim::MemoryPeak peak;
  Nanos since_start = 0;  ///< peak.time minus the start of the rank's first event
};

/// Returns the memory peak of a rank, or nullopt if its recording has no data on memory.
std::optional<RankMemory> peak_memory(const trace::RankTrace& trace);

struct RankSummary {
  std::int32_t rank = -1;
  /// One entry per step; -1 if the rank has no work in the step.
  std::vector<Nanos> recorded, replayed;
  std::vector<Nanos> baseline, predicted;  ///< one entry per step
  Nanos mean_baseline = 0, mean_predicted = 0;
  trace::ClockFit clock;
  std::optional<RankMemory> memory;  ///< nullopt if unknown
};

/// One what-if and its prediction.
struct Answer {
  std::string what_if;
  StepPrediction prediction;
};

struct ReplaySummary {
  std::string label;
  std::int32_t world = -1;
  bool from_phases = false;
  /// True: transfer times come from link tables; false: from the recording.
  bool has_links = false;
  bool links_unused = false;        ///< tables were given, but they fit no transfer of this job
  std::vector<std::int64_t> steps;  ///< the recorded steps that the prediction is based on
  std::vector<RankSummary> ranks;
  Nanos recorded_step = 0, replayed_step = 0;  ///< mean step of the slowest rank
  double worst_error = 0;  ///< largest relative error of the self-replay, over ranks and steps
  std::vector<std::string> what_if;  ///< the what-ifs, as the user wrote them
  Prediction prediction;
  /// Answers to common what-ifs; empty if the user asked what-ifs.
  std::vector<Answer> worth_knowing;
  std::optional<sim::StragglerReport> stragglers;  ///< nullopt if there is only one rank
  /// The job's steps without profiler, as `weft record` timed them; nullopt if unknown.
  std::optional<UnprofiledSteps> unprofiled;
  std::size_t ops = 0, edges = 0, inferred_edges = 0;

  /// Returns the best bucket size in worth_knowing: the answer about a bucket size that has the
  /// shortest step. Other answers are not about a setting that a user can choose. If several
  /// answers have the same step, returns the first of them. Returns nullptr if there is no such
  /// answer. Also returns nullptr if there is no link table, because then transfer times are too
  /// uncertain for a choice.
  const Answer* best_choice() const;
};

/// Replays the job and predicts its step. If the user asked no what-ifs, also answers common ones.
Result<ReplaySummary> summarise(const Job& job, const PredictOptions& options);
/// The same with a predictor that the caller made from the job and the options.
Result<ReplaySummary> summarise(const Job& job, const Predictor& predictor,
                                const PredictOptions& options);

/// Parses what-ifs. If one is refused, the result is an Error (kUsage) that lists the what-ifs that
/// this recording can answer.
Result<std::vector<WhatIf>> parse_what_ifs(const Job& job, const std::vector<std::string>& texts,
                                           const std::vector<cost::LinkTable>& links);

/// Writes the summary as JSON. docs/reference/cli.md describes the fields.
std::string summary_json(const ReplaySummary& summary, const Diagnostics& diagnostics);

}  // namespace weft::predict
