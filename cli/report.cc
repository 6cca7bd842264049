// SPDX-License-Identifier: Apache-2.0
// `weft report`: writes one HTML page about a recorded job, about link tables, or about plans of
// pipelines. The content of the inputs decides which of the three pages is made.
#include "weft/report/page/report.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/commands.h"
#include "cli/info/links_summary.h"
#include "cli/loading.h"
#include "cli/output.h"
#include "cli/shell/format.h"
#include "cli/shell/progress.h"
#include "weft/pipeline/plan/plan_file.h"
#include "weft/report/page/links_page.h"
#include "weft/report/page/plan_page.h"

namespace weft::cli {
namespace {

Result<report::ReportOptions> options_of(const Arguments& arguments) {
  report::ReportOptions options;
  options.inputs = arguments.inputs;
  if (arguments.has("--run")) options.run = arguments.all("--run").back();
  options.what_ifs = arguments.all("--what-if");
  options.link_files = arguments.all("--links");
  options.version = WEFT_VERSION;
  if (arguments.has("--all-spans")) options.timeline.most_spans = SIZE_MAX;
  WEFT_ASSIGN(options.links, cost::read_links(options.link_files));
  return options;
}

/// Writes the page about link tables. It takes no flags that are only for recordings.
Result<ExitCode> report_links(const Arguments& arguments, Console& console,
                              const std::string& path) {
  if (arguments.has("--what-if") || arguments.has("--links")) {
    return fail(ErrorCode::kUsage, "a page of link tables takes neither --what-if nor --links");
  }
  WEFT_ASSIGN(const std::vector<cost::LinkTable> tables, cost::read_links(arguments.inputs));
  const std::string page = report::make_links_page(tables, arguments.inputs, WEFT_VERSION);
  WEFT_TRY(write_output(console, path, page));
  console.result = fmt::format("{}: {}, link tables: {}\n", path,
                               format_bytes(static_cast<Bytes>(page.size())), tables.size());
  return ExitCode::kDone;
}

/// Writes the page about one plan of a pipeline, or about two plans to compare.
Result<ExitCode> report_plans(const Arguments& arguments, Console& console,
                              const std::string& path) {
  if (arguments.has("--what-if") || arguments.has("--links")) {
    return fail(ErrorCode::kUsage, "a page of plans takes neither --what-if nor --links");
  }
  if (arguments.inputs.size() > 2) {
    return fail(ErrorCode::kUsage, "a page shows at most two plans; give one or two files");
  }
  WEFT_ASSIGN(const std::string page, report::make_plan_page(arguments.inputs, WEFT_VERSION));
  WEFT_TRY(write_output(console, path, page));
  console.result =
      fmt::format("{}: {}, plans: {}\n", path, format_bytes(static_cast<Bytes>(page.size())),
                  arguments.inputs.size());
  return ExitCode::kDone;
}

Result<ExitCode> run_report(const Arguments& arguments, Console& console) {
  if (!arguments.has("-o")) {
    return fail(ErrorCode::kUsage,
                "-o FILE is missing: the file to write the page to, such as report.html");
  }
  const std::string& path = arguments.all("-o").back();
  if (all_are_links(arguments.inputs)) return report_links(arguments, console, path);
  if (std::all_of(arguments.inputs.begin(), arguments.inputs.end(), pipeline::is_plan)) {
    return report_plans(arguments, console, path);
  }
  // Read the options first, so that a wrong --links table fails before the traces are loaded.
  WEFT_ASSIGN(const report::ReportOptions options, options_of(arguments));
  Diagnostics diagnostics;
  WEFT_ASSIGN(const predict::Job job, open_job(arguments, console, diagnostics));
  Progress progress(console.err);
  if (arguments.has("--strict")) WEFT_TRY(diagnostics.strict());

  progress.show("diagnosing and predicting");
  WEFT_ASSIGN(const report::Report report, report::make_report(job, options, diagnostics));
  WEFT_TRY(write_output(console, path, report.html));
  progress.clear();
  console.result = fmt::format("{}\n{}: {:.1f} MB, ranks: {}, spans: {}, findings: {}\n",
                               report.verdict, path, static_cast<double>(report.html.size()) / 1e6,
                               report.ranks, report.spans, report.findings);
  return ExitCode::kDone;
}

}  // namespace

Subcommand report_command() {
  Subcommand command;
  command.name = "report";
  command.description = "writes diagnosis, timeline and what-ifs as one HTML page";
  command.inputs = "INPUT...";
  command.min_inputs = 1;
  command.details =
      "The page contains all its data, so it opens anywhere without network. It shows the "
      "verdict, the findings, what each step spends its time on, a timeline of all ranks on one "
      "clock, which ranks come late to collectives, memory, and the step before and after each "
      "what-if. If a recording has more than 300,000 spans, short neighbours are drawn as one "
      "span, starting with those of host threads.\n"
      "\n"
      "If INPUT is a link table (of weft calibrate), the page shows its curves. If INPUT is one "
      "or two plans (of weft pipeline -o), the page shows their schedules on one time scale.";
  command.examples = {
      Example{"weft report examples/resnet50-w4 -o report.html",
              "then open report.html in a browser"},
      Example{"weft report examples/resnet50-w4 -o report.html --what-if ddp.bucket_mb=10 --links "
              "examples/resnet50-w4/allreduce-w4.json",
              "also predict a change of your own, with measured transfer times"}};
  command.flags = {
      {"-o", "FILE", "where to write the page; - means stdout", Flag::Value::kFile},
      {"--what-if", "KEY=VALUE",
       "a change to predict (weft list what-ifs); several are shown each alone and all together",
       Flag::Value::kText, true},
      {"--links", "TABLE", "measured transfer times (docs/formats/links.md)", Flag::Value::kFile,
       true},
      {"--all-spans", "", "draw every span by itself, however many there are"}};
  for (Flag& flag : loading_flags()) command.flags.push_back(std::move(flag));
  command.run = run_report;
  return command;
}

}  // namespace weft::cli
