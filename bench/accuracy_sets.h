// SPDX-License-Identifier: Apache-2.0
// Finds recordings in a folder, by the names of the files. It also finds the measured times with
// which predictions for these recordings are compared.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "weft/cost/links.h"
#include "weft/predict/job.h"

namespace weft::accuracy {

/// A recorded job. If there is a truth file (MODEL-wN.truth.json beside MODEL-wN-rR.json.gz), the
/// job was also timed without profiler, unchanged and in other configurations.
struct JobSet {
  std::string name;
  std::vector<std::string> inputs;
  std::string run;  ///< see LoadOptions::run
  /// The field pipelined_ms of each variant in the truth file; empty if there is no truth file.
  std::map<std::string, double> truth_ms;
  /// The link tables in allreduce-wN.json in the same folder, where N is the job's number of ranks.
  std::vector<cost::LinkTable> links;
};

/// Searches `folder` recursively. Public multi-rank recordings are known by their paths; jobs with
/// a truth file are found in any subfolder. An unreadable truth file or table is an Error.
Result<std::vector<JobSet>> find_sets(const std::string& folder);

Result<predict::Job> open(const JobSet& set);

}  // namespace weft::accuracy
