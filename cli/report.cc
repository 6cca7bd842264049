// SPDX-License-Identifier: Apache-2.0
// `weft report`: a recorded job as one HTML page.
#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/loading.h"
#include "cli/progress.h"
#include "weft/base/file.h"
#include "weft/base/json_writer.h"
#include "weft/diagnose/path.h"
#include "weft/predict/job.h"
#include "weft/report/html.h"
#include "weft/report/timeline_pack.h"

namespace weft::cli {
namespace {

Result<ExitCode> run_report(const Arguments& arguments, Console& console) {
  if (!arguments.has("-o")) {
    return fail(ErrorCode::kUsage, "-o FILE is missing: where to write the page, as report.html");
  }
  const std::string& path = arguments.all("-o").back();
  Diagnostics diagnostics;
  WEFT_ASSIGN(trace::Recording recording, load_inputs(arguments, console, diagnostics));
  Progress progress(console.err);
  progress.show("building the graph");
  WEFT_ASSIGN(const predict::Job job, predict::make_job(std::move(recording), diagnostics));
  if (arguments.has("--strict")) WEFT_TRY(diagnostics.strict());

  progress.show("laying out the timeline");
  report::TimelineOptions options;
  if (arguments.has("--all-spans")) options.most_spans = SIZE_MAX;
  const diagnose::CriticalPath critical = diagnose::find_critical_path(job);
  const report::Timeline timeline = report::make_timeline(job, &critical, options);
  report::PageData page;
  page.title = "Weft report: " + job.run.label;
  page.timeline = report::pack_timeline(timeline);
  page.json = JsonWriter().begin_object().field("schema_version", 1).end_object().take();
  const std::string html = report::render_page(page);
  WEFT_TRY(write_file(path, html));
  progress.clear();
  console.result = fmt::format("{}: {:.1f} MB, {} ranks, {} spans\n", path,
                               static_cast<double>(html.size()) / 1e6, timeline.ranks.size(),
                               timeline.spans.size());
  return ExitCode::kDone;
}

}  // namespace

Subcommand report_command() {
  Subcommand command;
  command.name = "report";
  command.description = "a recorded job as one HTML page that needs no network";
  command.inputs = "INPUT...";
  command.min_inputs = 1;
  command.details =
      "The page holds all its data and opens from anywhere. Its timeline shows every rank on one\n"
      "clock. Of recordings with more than 300,000 spans short neighbours are drawn as one,\n"
      "those of hosts first.";
  command.examples = {Example{"weft report examples/resnet50-w4 -o report.html",
                              "then open report.html in a browser"},
                      Example{"weft report traces/ -o report.html --all-spans",
                              "every span, however large the page gets"}};
  command.flags = {{"-o", "FILE", "where to write the page", Flag::Value::kText},
                   {"--all-spans", "", "put no spans together, however many there are"}};
  for (Flag& flag : loading_flags()) command.flags.push_back(std::move(flag));
  command.run = run_report;
  return command;
}

}  // namespace weft::cli
