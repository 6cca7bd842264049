// SPDX-License-Identifier: Apache-2.0
// Compares predictions of changed settings with measured steps, and condenses the comparison into
// figures that have bars.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/accuracy_table.h"
#include "bench/settings_sets.h"
#include "weft/predict/predict.h"

namespace weft::accuracy {

/// The prediction of one setting, in milliseconds, or why there is none.
struct Answer {
  double step = 0;
  Range bar;  ///< error bar
  std::string refused;
  bool known() const { return refused.empty(); }
};

/// A setting of a job with its two predictions.
struct Compared {
  const SettingsSet* set = nullptr;
  const Setting* setting = nullptr;
  Answer with_table, without_table;
  bool changed() const { return setting->name != "usual"; }
};

/// Predicts the usual setting and every other setting that a what-if describes. Settings whose
/// what-if Weft does not know are left out.
Result<std::vector<Compared>> compare_settings(const SettingsSet& set);

/// How good a list of predictions is.
struct Figures {
  double mean_error = 0, worst_error = 0;  ///< errors beyond noise, over the changed settings
  double mean_distance = 0;  ///< distance to the nearest measured run, over the changed settings
  int pairs = 0, ordered_pairs = 0;  ///< pairs of settings whose order is clear
  /// Changes of more than 6 %, and those of them that were predicted in the wrong direction.
  int clear_changes = 0, wrong_changes = 0;
  int measurements = 0, inside = 0;  ///< measured steps, and those inside the error bar
  double half_width = 0;             ///< mean half width of the error bars, as a share of the step
  int refused = 0;

  double ordered() const { return pairs == 0 ? 1 : 1.0 * ordered_pairs / pairs; }
  double covered() const { return measurements == 0 ? 1 : 1.0 * inside / measurements; }
};

/// The largest errors that are accepted.
struct Limits {
  double mean_error, worst_error;
  double ordered;
  int wrong_changes;
  double covered_least, covered_most;
  double half_width;
};

Figures figures_of(const std::vector<Compared>& compared, bool with_table);

/// One row per setting.
Table settings_table(const std::vector<Compared>& compared);
/// One row per figure. A limit that is nullopt has no verdict.
Table figures_table(const Figures& with_table, const std::optional<Limits>& with_limits,
                    const Figures& without_table, const std::optional<Limits>& without_limits);

}  // namespace weft::accuracy
