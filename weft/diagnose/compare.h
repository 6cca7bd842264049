// SPDX-License-Identifier: Apache-2.0
// Compares two runs, or a run with its prediction. The result shows the change of the step and of
// its causes, the ops that became slower or faster, and the ops that are missing or new.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "weft/diagnose/diagnosis.h"
#include "weft/plan/plan.h"
#include "weft/predict/summary.h"

namespace weft::diagnose {

/// All ops of one kind and name in two runs. Times and counts are means per step and rank. They are
/// 0 if a run has no such op.
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
  /// A change that is smaller than this may be chance. For recordings, this is sqrt(a^2 + b^2),
  /// where a and b are the standard errors of the two means. For predictions, a and b are half the
  /// widths of the two error bars.
  Nanos noise = 0;
  bool predicted = false;           ///< true: steps without profiler; false: steps as recorded
  std::vector<CauseChange> causes;  ///< mean over ranks; waiting is not divided by rank
  std::vector<OpChange> ops;        ///< ops that both runs have, largest change first
  std::vector<OpChange> missing;    ///< ops that only the first run has, longest first
  std::vector<OpChange> added;      ///< ops that only the second run has, longest first

  /// Returns the relative change: after / before - 1.
  double change() const;
  /// True if the change is larger than the noise.
  bool beyond_noise() const;
  /// True if the step got longer by more than `limit`, a share of the step, and the change is
  /// beyond the noise. So --fail-above does not fail because of chance.
  bool exceeds(double limit) const;
};

/// Compares two recorded runs.
Comparison compare(const predict::Job& before, const Diagnosis& before_diagnosis,
                   const predict::Job& after, const Diagnosis& after_diagnosis);

/// Compares two predictions of steps without profiler. Compares causes only if both predictions
/// have a breakdown.
Comparison compare(const predict::StepPrediction& before, const std::string& before_label,
                   const predict::StepPrediction& after, const std::string& after_label);

struct CompareOptions {
  std::vector<std::string> what_ifs;  ///< changes of the first job; their effect is predicted
  std::vector<cost::LinkTable> links;
};

/// Without what-ifs, compares the two runs as recorded. With what-ifs, predicts two steps without
/// profiler and compares them: the step of `before` with the what-ifs, and the step of `after`
/// without changes.
Result<Comparison> compare(const predict::Job& before, const predict::Job& after,
                           const CompareOptions& options);

/// Compares the step that a plan predicts with the predicted step of `after` without profiler.
Result<Comparison> compare(const plan::Plan& before, const std::string& before_label,
                           const predict::Job& after, const CompareOptions& options);

/// Writes a comparison as JSON. docs/reference/cli.md describes the fields. `limit` is the value of
/// --fail-above as a share, or nullopt if the user gave none.
std::string comparison_json(const Comparison& comparison, std::optional<double> limit,
                            const Diagnostics& diagnostics);

}  // namespace weft::diagnose
