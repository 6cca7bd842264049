// SPDX-License-Identifier: Apache-2.0
// Makes a report in four steps. First it predicts the user's what-ifs, so that an invalid what-if
// fails before the longer analysis. Then it makes the diagnosis and the replay. Then it makes the
// timeline, which must know the views of all findings. Then it makes the page.
#include "weft/report/page/report.h"

#include "weft/diagnose/diagnosis.h"
#include "weft/report/page/html.h"
#include "weft/report/page/page_json.h"
#include "weft/report/timeline/pack.h"

namespace weft::report {
namespace {

/// Predicts the step for each what-if of the user alone. If there are several what-ifs, it also
/// predicts the step for all of them together.
Result<std::vector<predict::Answer>> answer(const predict::Job& job,
                                            const predict::Predictor& predictor,
                                            const ReportOptions& options) {
  std::vector<predict::Answer> answers;
  if (options.what_ifs.empty()) return answers;
  WEFT_ASSIGN(const std::vector<predict::WhatIf> what_ifs,
              predict::parse_what_ifs(job, options.what_ifs, options.links));
  std::string together;
  for (const predict::WhatIf& what_if : what_ifs) {
    WEFT_ASSIGN(predict::StepPrediction prediction, predictor.ask({what_if}));
    answers.push_back({what_if.text, std::move(prediction)});
    together += (together.empty() ? "" : " ") + what_if.text;
  }
  if (answers.size() > 1) {
    WEFT_ASSIGN(predict::StepPrediction prediction, predictor.ask(what_ifs));
    answers.push_back({together, std::move(prediction)});
  }
  return answers;
}

/// Adds the option --run if the user chose a run, because every command on the page must select the
/// same run as this report.
std::string with_run(std::string command, const ReportOptions& options) {
  if (!options.run.empty()) command += " --run " + diagnose::shell_word(options.run);
  return command;
}

std::vector<ReproduceCommand> commands(const ReportOptions& options) {
  std::string inputs, links, questions;
  for (const std::string& each : options.inputs) inputs += " " + diagnose::shell_word(each);
  for (const std::string& each : options.link_files) {
    links += " --links " + diagnose::shell_word(each);
  }
  for (const std::string& each : options.what_ifs) {
    questions += " --what-if " + diagnose::shell_word(each);
  }
  return {{with_run("weft report" + inputs + links + questions, options) + " -o report.html",
           "this page"},
          {with_run("weft diagnose" + inputs, options), "findings, and time per cause"},
          {with_run("weft replay" + inputs + links, options), "recorded and predicted steps"},
          {with_run("weft info" + inputs, options), "what was recorded"}};
}

}  // namespace

Result<Report> make_report(const predict::Job& job, const ReportOptions& options,
                           const Diagnostics& loading) {
  predict::PredictOptions prediction;
  prediction.links = options.links;
  WEFT_ASSIGN(const predict::Predictor predictor, predict::Predictor::make(job, prediction));
  WEFT_ASSIGN(std::vector<predict::Answer> asked, answer(job, predictor, options));
  WEFT_ASSIGN(const diagnose::Diagnosis diagnosis, diagnose::diagnose(job, predictor));
  WEFT_ASSIGN(const predict::ReplaySummary summary, predict::summarise(job, predictor, prediction));
  Diagnostics diagnostics = loading;
  predict::warn_untypical(summary, diagnostics);

  // The page links each finding to a part of the timeline. In a large timeline, short neighbouring
  // spans are merged, but not in these parts; otherwise the op of a finding could disappear in a
  // merged span.
  TimelineOptions detailed = options.timeline;
  std::vector<std::string> finding_commands;
  std::vector<FindingView> finding_views;
  for (const diagnose::Finding& finding : diagnosis.findings) {
    const FindingView& view = finding_views.emplace_back(find_view(job, finding));
    const std::size_t number = finding_views.size();
    finding_commands.push_back(with_run(diagnose::show_command(options.inputs, number), options));
    if (view.op != graph::kNoId) {
      detailed.detail.push_back({job.graph.rank(view.op), view.start, view.end});
    }
  }
  const Timeline timeline = make_timeline(job, &diagnosis.path, detailed);
  const PageInput input{job,
                        timeline,
                        diagnosis,
                        summary,
                        std::move(asked),
                        diagnostics,
                        options.version,
                        options.inputs,
                        options.link_files,
                        commands(options),
                        std::move(finding_commands),
                        std::move(finding_views),
                        recorded_charts(job)};
  Report report;
  report.html =
      render_page({"Weft report: " + job.run.label, pack_timeline(timeline), page_json(input)});
  report.ranks = timeline.ranks.size();
  report.spans = timeline.spans.size();
  report.findings = diagnosis.findings.size();
  report.verdict = diagnosis.verdict;
  return report;
}

}  // namespace weft::report
