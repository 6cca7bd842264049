// SPDX-License-Identifier: Apache-2.0
// Everything on the page but its timeline, as JSON. web/page_data.ts says what each member means.
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
  std::string what;  ///< what it shows
};

struct PageInput {
  const predict::Job& job;
  const Timeline& timeline;
  const diagnose::Diagnosis& diagnosis;
  const predict::ReplaySummary& summary;  ///< with what is worth knowing
  std::vector<predict::Answer> asked;     ///< by the user
  const Diagnostics& diagnostics;
  std::string version;
  std::vector<std::string> inputs;  ///< as given
  std::vector<std::string> links;   ///< paths of link tables
  std::vector<ReproduceCommand> commands;
  std::vector<std::string> finding_commands;  ///< one a finding
  std::vector<FindingView> finding_views;     ///< likewise
  std::vector<ScheduleChart> schedules;       ///< of a pipeline
};

std::string page_json(const PageInput& input);

}  // namespace weft::report
