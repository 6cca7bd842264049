// SPDX-License-Identifier: Apache-2.0
// Two runs side by side, or a run against what was predicted for it: the step, its causes, the ops
// that got slower or faster, those that are missing or new.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "weft/diagnose/diagnosis.h"
#include "weft/plan/plan.h"
#include "weft/predict/summary.h"

namespace weft::diagnose {

/// One kind of work (an op's kind and name), mean a step over all ranks of a run.
struct OpChange {
  std::string name;
  std::string kind;  ///< "kernel", "copy", "host", "allreduce" ...
  /// Time and number a step and rank, before and after; 0 where it is missing.
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
  /// A smaller change may be chance: standard errors of both means, or half widths of the error
  /// bars of predictions, added in squares.
  Nanos noise = 0;
  bool predicted = false;           ///< steps without profiler rather than as recorded
  std::vector<CauseChange> causes;  ///< mean over ranks, waiting not split by rank
  std::vector<OpChange> ops;        ///< in both, largest change first
  std::vector<OpChange> missing;    ///< only before, longest first
  std::vector<OpChange> added;      ///< only after, longest first

  /// after / before - 1.
  double change() const;
};

Comparison compare(const predict::Job& before, const Diagnosis& before_diagnosis,
                   const predict::Job& after, const Diagnosis& after_diagnosis);

/// Two predictions, or one against what a run turned out to be: steps without profiler, and of what
/// they are made where that is known.
Comparison compare(const predict::StepPrediction& before, const std::string& before_label,
                   const predict::StepPrediction& after, const std::string& after_label);

struct CompareOptions {
  std::vector<std::string> what_ifs;  ///< changes predicted for the job before
  std::vector<cost::LinkTable> links;
};

/// As recorded; with what-ifs, what they promise for `before` against what `after` turned out to
/// be.
Result<Comparison> compare(const predict::Job& before, const predict::Job& after,
                           const CompareOptions& options);

/// What a plan promises against what the job turned out to be.
Result<Comparison> compare(const plan::Plan& before, const std::string& before_label,
                           const predict::Job& after, const CompareOptions& options);

/// Schema: docs/reference/cli.md. `limit`: what --fail-above asks, as a share; nullopt: nothing.
std::string comparison_json(const Comparison& comparison, std::optional<double> limit,
                            const Diagnostics& diagnostics);

}  // namespace weft::diagnose
