// SPDX-License-Identifier: Apache-2.0
// Writes everything on the page of a job except the timeline as JSON. web/page_data.ts declares the
// same structure and says what each member means.
#pragma once

#include <string>
#include <vector>

#include "weft/diagnose/diagnosis.h"
#include "weft/report/page/finding_view.h"
#include "weft/report/page/schedule_chart.h"
#include "weft/report/timeline/data.h"

namespace weft::report {

struct ReproduceCommand {
  std::string command;
  std::string what;  ///< what the command shows, as a short phrase
};

/// Everything that page_json() needs. The references must stay valid during the call.
struct PageInput {
  const predict::Job& job;
  const Timeline& timeline;
  const diagnose::Diagnosis& diagnosis;
  const predict::ReplaySummary& summary;  ///< contains the standard what-ifs (worth_knowing)
  std::vector<predict::Answer> asked;     ///< the what-ifs that the user asked for
  const Diagnostics& diagnostics;
  std::string version;
  std::vector<std::string> inputs;  ///< paths as the user gave them
  std::vector<std::string> links;   ///< paths of link tables
  std::vector<ReproduceCommand> commands;
  std::vector<std::string> finding_commands;  ///< one per finding
  std::vector<FindingView> finding_views;     ///< one per finding
  std::vector<ScheduleChart> schedules;       ///< empty if the job is not a pipeline
};

std::string page_json(const PageInput& input);

}  // namespace weft::report
