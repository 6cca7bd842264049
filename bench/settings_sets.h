// SPDX-License-Identifier: Apache-2.0
// Jobs that were recorded once and then timed without profiler under several settings.
// bench/settings_accuracy.cc compares predictions with the measured times.
#pragma once

#include <string>
#include <vector>

#include "weft/base/result.h"
#include "weft/cost/links.h"
#include "weft/predict/job.h"

namespace weft::accuracy {

/// A range of step times, in milliseconds.
struct Range {
  double low = 0, high = 0;
};

struct Setting {
  std::string name;          ///< as in the truth file: "bucket5", "batch2" ...
  std::string what_if;       ///< "" if no what-if describes this setting
  std::vector<double> runs;  ///< milliseconds per step of each run
  Range measured;            ///< from the fastest to the slowest run
  /// `measured`, widened so that it covers the standard error of the mean. Few runs may be equal by
  /// chance. So the standard error is computed from the scatter of the runs of the usual setting,
  /// which was measured more often than other settings.
  Range noise;
  double mean() const;
};

struct SettingsSet {
  std::string name;
  std::vector<std::string> inputs;
  std::vector<cost::LinkTable> links;
  Setting usual;                  ///< the setting that was recorded
  std::vector<Setting> settings;  ///< all other settings, in the order of the truth file
  /// Standard deviation of the runs of the usual setting / their mean.
  double scatter = 0;
};

/// The what-if that describes a setting of a truth file, or "" if there is none.
std::string what_if_of(const std::string& setting);

/// Returns the jobs in bench/data/h200-settings. `data` is that folder.
Result<std::vector<SettingsSet>> recorded_settings(const std::string& data);
/// Returns the jobs with truth files in the folder h200-nccl of the shared recordings, or nothing
/// if the folder does not exist.
Result<std::vector<SettingsSet>> shared_settings(const std::string& folder);

}  // namespace weft::accuracy
