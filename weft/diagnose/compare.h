// SPDX-License-Identifier: Apache-2.0
// Compares two runs, or a run with what was predicted for it: the step, its causes, the ops that
// got slower or faster, and the ops that are missing or new.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "weft/diagnose/diagnosis.h"
#include "weft/plan/plan.h"
#include "weft/predict/summary.h"

namespace weft::diagnose {

/// All ops of one kind and name. Times and counts are means per step and rank, 0 if the run has no
/// such op.
struct OpChange {
  std::string name;
  std::string kind;  ///< "kernel", "copy", "host", "allreduce" ...
  Nanos before = 0, after = 0;
  double count_before = 0, count_after = 0;

  Nanos change() const { return after - before; }
};

struct CauseChange {
  std::string name;
  Nanos before = 0, after = 0;
};

struct Comparison {
  std::string before_label, after_label;
  std::size_t before_ranks = 0, after_ranks = 0;
  Nanos before_step = 0, after_step = 0;  ///< mean step of the slowest rank
  /// A smaller change may be chance. This is sqrt(a^2 + b^2) of the standard errors of both means,
  /// or of half the widths of both error bars for predictions.
  Nanos noise = 0;
  bool predicted = false;           ///< true: steps without profiler; false: as recorded
  std::vector<CauseChange> causes;  ///< mean over ranks; waiting is not split by rank
  std::vector<OpChange> ops;        ///< ops of both runs, largest change first
  std::vector<OpChange> missing;    ///< ops only in the run before, longest first
  std::vector<OpChange> added;      ///< ops only in the run after, longest first

  /// after / before - 1.
  double change() const;
};

/// Compares two recorded runs.
Comparison compare(const predict::Job& before, const Diagnosis& before_diagnosis,
                   const predict::Job& after, const Diagnosis& after_diagnosis);

/// Compares two predictions of steps without profiler. Causes are compared if both have a
/// breakdown.
Comparison compare(const predict::StepPrediction& before, const std::string& before_label,
                   const predict::StepPrediction& after, const std::string& after_label);

struct CompareOptions {
  std::vector<std::string> what_ifs;  ///< changes to predict for the job before
  std::vector<cost::LinkTable> links;
};

/// Without what-ifs: compares both runs as recorded. With what-ifs: compares the step predicted for
/// `before` with these changes with the step of `after` without profiler.
Result<Comparison> compare(const predict::Job& before, const predict::Job& after,
                           const CompareOptions& options);

/// Compares the step that a plan predicts with the step of `after` without profiler.
Result<Comparison> compare(const plan::Plan& before, const std::string& before_label,
                           const predict::Job& after, const CompareOptions& options);

/// Schema: docs/reference/cli.md. `limit`: the value of --fail-above as a share; nullopt if the
/// user gave none.
std::string comparison_json(const Comparison& comparison, std::optional<double> limit,
                            const Diagnostics& diagnostics);

}  // namespace weft::diagnose
