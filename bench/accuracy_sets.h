// SPDX-License-Identifier: Apache-2.0
// Recordings and the truth about them, found under a folder by what its files are called.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "weft/cost/links.h"
#include "weft/predict/job.h"

namespace weft::accuracy {

/// A job that was recorded once. With a truth file, MODEL-wN.truth.json beside MODEL-wN-rR.json.gz,
/// it was also timed without profiler, as it is and in other configurations.
struct JobSet {
  std::string name;
  std::vector<std::string> inputs;
  std::string run;  ///< as LoadOptions::run
  /// pipelined_ms of each variant of the truth file; empty for recordings without truth.
  std::map<std::string, double> truth_ms;
  std::vector<cost::LinkTable> links;  ///< allreduce-wN.json beside it, of its number of ranks
};

/// Looks in `folder` and in all folders below. The public multi-rank recordings are known by their
/// places; jobs with a truth file are found wherever they are. An unreadable truth file or table is
/// an Error.
Result<std::vector<JobSet>> find_sets(const std::string& folder);

Result<predict::Job> open(const JobSet& set);

}  // namespace weft::accuracy
