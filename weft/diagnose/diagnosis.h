// SPDX-License-Identifier: Apache-2.0
// Defines Diagnosis, a value that holds all results of `weft diagnose` about a recorded job. The
// command prints this value, and the report draws it. The command and the Python package write the
// same JSON for it. A diagnosis describes the job as recorded, including the effects of the
// profiler. Only the gains of findings are predictions of the job without profiler.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "weft/base/diagnostics.h"
#include "weft/diagnose/causes.h"
#include "weft/diagnose/findings.h"
#include "weft/diagnose/path.h"
#include "weft/diagnose/skew.h"
#include "weft/predict/summary.h"
#include "weft/sim/stragglers.h"

namespace weft::diagnose {

struct RankDiagnosis {
  std::int32_t rank = -1;
  std::vector<Nanos> steps;  ///< length of each complete step
  Nanos step = 0;            ///< the mean of `steps`; equals causes.mean.total()
  RankCauses causes;
  Lateness lateness;
  std::optional<predict::RankMemory> memory;  ///< nullopt if unknown
};

struct Diagnosis {
  std::string label;
  std::int32_t world = -1;
  bool from_phases = false;
  std::vector<std::int64_t> steps;  ///< numbers of the complete steps
  Nanos step = 0;                   ///< mean recorded step of the slowest rank
  Nanos baseline = 0;               ///< predicted step without profiler; gains are relative to it
  std::int32_t slowest_rank = -1;   ///< the rank with that step
  /// The rank that the others wait for. It is the rank with the largest part of the critical path.
  /// Its own step may be shorter than the steps of the ranks that wait for it.
  std::int32_t late_rank = -1;
  std::vector<RankDiagnosis> ranks;
  CriticalPath path;
  std::vector<CollectiveSkew> skews;
  std::optional<sim::StragglerReport> stragglers;  ///< nullopt if there is only one rank
  std::vector<Finding> findings;                   ///< largest gain first
  std::string verdict;                             ///< one sentence
};

/// Diagnoses a job. An Error (kUsage) if no step was recorded on all ranks.
Result<Diagnosis> diagnose(const predict::Job& job, const FindingOptions& options = {});
/// The same with a predictor of the job that the caller already has.
Result<Diagnosis> diagnose(const predict::Job& job, const predict::Predictor& predictor,
                           const FindingOptions& options = {});

/// Writes a diagnosis as JSON. docs/reference/cli.md describes the fields. `inputs` are the words
/// of the command line that name the run: its paths, and "--run", "2" if the user chose one of
/// several runs.
std::string diagnosis_json(const predict::Job& job, const Diagnosis& diagnosis,
                           const std::vector<std::string>& inputs, const Diagnostics& diagnostics);

/// Returns the command that shows a finding: "weft diagnose INPUT... --finding 2". Findings are
/// counted from 1.
std::string show_command(const std::vector<std::string>& inputs, std::size_t finding);

/// Returns `text` as one word of a shell command, in quotes if necessary.
std::string shell_word(const std::string& text);

/// Returns the name of a cause for use in a sentence: "exposed transfer", "waiting for other
/// ranks".
const char* cause_words(Cause cause);

}  // namespace weft::diagnose
