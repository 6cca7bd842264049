// SPDX-License-Identifier: Apache-2.0
// All results of `weft replay` about a job in one value. The command prints it; the command and the
// Python package share its JSON.
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

/// The memory peak of one rank, on the device where it is highest.
struct RankMemory {
  std::int32_t device = -1;
  sim::MemorySource source = sim::MemorySource::kAllocator;
  sim::MemoryPeak peak;
  Nanos since_start = 0;  ///< peak.time minus the start of the rank's first event
};

/// nullopt if the recording has no data on device memory.
std::optional<RankMemory> peak_memory(const trace::RankTrace& trace);

struct RankSummary {
  std::int32_t rank = -1;
  std::vector<Nanos> recorded, replayed;   ///< by step; -1 if the rank has no work in the step
  std::vector<Nanos> baseline, predicted;  ///< by step
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
  bool has_links = false;     ///< transfer times come from link tables, not from the recording
  bool links_unused = false;  ///< tables were given, but they fit no transfer of this job
  std::vector<std::int64_t> steps;  ///< the steps that the prediction was made from
  std::vector<RankSummary> ranks;
  Nanos recorded_step = 0, replayed_step = 0;  ///< mean step of the slowest rank
  double worst_error = 0;  ///< largest relative error of the self-replay, over ranks and steps
  std::vector<std::string> what_if;  ///< as the user wrote them
  Prediction prediction;
  std::vector<Answer> worth_knowing;               ///< common what-ifs; empty if the user asked any
  std::optional<sim::StragglerReport> stragglers;  ///< nullopt if there is only one rank
  std::size_t ops = 0, edges = 0, inferred_edges = 0;

  /// The answer with the shortest step (of equal ones the first) among those of worth_knowing that
  /// are settings a user can choose, which are bucket sizes. nullptr if there is none, or if no
  /// link table makes transfer times certain enough for a choice.
  const Answer* best_choice() const;
};

/// Replays and predicts. If the user asked no what-ifs, common ones are answered as well.
Result<ReplaySummary> summarise(const Job& job, const PredictOptions& options);

/// Parses what-ifs. If one is refused, the Error (kUsage) lists those that this recording can
/// answer.
Result<std::vector<WhatIf>> parse_what_ifs(const Job& job, const std::vector<std::string>& texts,
                                           const std::vector<cost::LinkTable>& links);

/// Schema: docs/reference/cli.md.
std::string summary_json(const ReplaySummary& summary, const Diagnostics& diagnostics);

}  // namespace weft::predict
