// SPDX-License-Identifier: Apache-2.0
// Everything `weft diagnose` tells about a recorded job, in one value: the command prints it, the
// report draws it, its JSON is the same for the command and for Python. It describes the job as it
// was recorded, profiler and all; what it would be without is `weft replay`'s business.
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
  Nanos step = 0;            ///< their mean; equals causes.mean.total()
  RankCauses causes;
  Lateness lateness;
  std::optional<predict::RankMemory> memory;  ///< nullopt: unknown
};

struct Diagnosis {
  std::string label;
  std::int32_t world = -1;
  bool from_phases = false;
  std::vector<std::int64_t> steps;  ///< numbers of the complete steps
  Nanos step = 0;                   ///< mean step of the slowest rank
  std::int32_t slowest_rank = -1;   ///< whose step that is
  /// Whom the others wait for: the rank with most of the critical path. Its own step may be shorter
  /// than that of those who wait for it.
  std::int32_t late_rank = -1;
  std::vector<RankDiagnosis> ranks;
  CriticalPath path;
  std::vector<CollectiveSkew> skews;
  std::optional<sim::StragglerReport> stragglers;  ///< nullopt: one rank only
  std::vector<Finding> findings;                   ///< largest gain first
  std::string verdict;                             ///< one sentence
};

Result<Diagnosis> diagnose(const predict::Job& job, const FindingOptions& options = {});

/// Schema: docs/reference/cli.md. `inputs` are the words that name the run in commands: its paths,
/// and "--run", "2" where the run was chosen.
std::string diagnosis_json(const predict::Job& job, const Diagnosis& diagnosis,
                           const std::vector<std::string>& inputs, const Diagnostics& diagnostics);

/// The command that shows a finding: "weft diagnose INPUT... --finding 2" (counted from 1).
std::string show_command(const std::vector<std::string>& inputs, std::size_t finding);

/// Quoted for a shell where that is needed.
std::string shell_word(const std::string& text);

/// For sentences: "exposed transfer", "waiting for other ranks".
const char* cause_words(Cause cause);

}  // namespace weft::diagnose
