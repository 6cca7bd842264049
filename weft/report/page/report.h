// SPDX-License-Identifier: Apache-2.0
// Makes the report of a recorded job: one HTML page with diagnosis, timeline and what-if
// predictions, which needs no network.
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
  std::vector<std::string>
      inputs;       ///< paths as the user gave them; the page repeats them in commands
  std::string run;  ///< name of the run if the input has several runs; else empty
  /// The user's what-ifs. The report predicts each of them alone and, if there are several, also
  /// all of them together. It always has predictions for the standard what-ifs too.
  std::vector<std::string> what_ifs;
  std::vector<std::string> link_files;  ///< paths of the link tables in `links`
  std::vector<cost::LinkTable> links;
  std::string version;  ///< of Weft
  TimelineOptions timeline;
};

/// The page, and the facts about it that the command prints.
struct Report {
  std::string html;
  std::size_t ranks = 0;
  std::size_t spans = 0;
  std::size_t findings = 0;
  std::string verdict;
};

/// Fails with kUsage if this recording cannot answer one of the what-ifs, or if no step was
/// recorded on all ranks.
Result<Report> make_report(const predict::Job& job, const ReportOptions& options,
                           const Diagnostics& diagnostics);

}  // namespace weft::report
