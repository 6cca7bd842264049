// SPDX-License-Identifier: Apache-2.0
// The report of a recorded job: diagnosis, timeline and what-ifs on one page that needs no network.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/base/diagnostics.h"
#include "weft/base/result.h"
#include "weft/cost/links.h"
#include "weft/predict/job.h"
#include "weft/report/timeline/data.h"

namespace weft::report {

struct ReportOptions {
  std::vector<std::string> inputs;  ///< as the user gave them; spelt into commands
  std::string run;                  ///< likewise, where the input holds several runs
  /// Asked beside those worth knowing: each alone and, if there are several, all together.
  std::vector<std::string> what_ifs;
  std::vector<std::string> link_files;
  std::vector<cost::LinkTable> links;  ///< what is in them
  std::string version;                 ///< of Weft
  TimelineOptions timeline;
};

struct Report {
  std::string html;
  std::size_t ranks = 0;
  std::size_t spans = 0;
  std::size_t findings = 0;
  std::string verdict;
};

/// A what-if that this recording cannot answer is an Error (kUsage), and so is a job of which no
/// step was recorded on all ranks.
Result<Report> make_report(const predict::Job& job, const ReportOptions& options,
                           const Diagnostics& diagnostics);

}  // namespace weft::report
