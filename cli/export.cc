// SPDX-License-Identifier: Apache-2.0
// `weft export`: writes a job into files that other tools read.
#include <fmt/format.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/loading.h"
#include "cli/shell/interrupt.h"
#include "cli/shell/notes.h"
#include "cli/shell/progress.h"
#include "weft/report/exports/chakra.h"
#include "weft/report/exports/export.h"

namespace weft::cli {
namespace {

/// The only format that writes several files: one per rank. OUT is the prefix of their names.
constexpr std::string_view kChakra = "chakra";
constexpr std::string_view kChakraEnding = ".et";

bool is_chakra(const Arguments& arguments, std::string_view path) {
  return arguments.has("--format") ? arguments.all("--format").back() == kChakra
                                   : path.ends_with(kChakraEnding);
}

Result<ExitCode> export_chakra(const Arguments& arguments, Console& console, std::string prefix) {
  if (prefix == kStandardOutput || arguments.has("--table")) {
    return fail(ErrorCode::kUsage,
                "the format chakra writes one file per rank: give -o a prefix for their names, and "
                "no --table");
  }
  if (prefix.ends_with(kChakraEnding)) prefix.resize(prefix.size() - kChakraEnding.size());
  Diagnostics diagnostics;
  WEFT_ASSIGN(const predict::Job job, open_job(arguments, console, diagnostics));
  if (arguments.has("--strict")) WEFT_TRY(diagnostics.strict());
  Diagnostics lost;
  WEFT_TRY(report::write_chakra(job, prefix, lost));
  Notes notes(console.err);
  notes.add(lost);
  console.notes = notes.text();
  return ExitCode::kDone;
}

/// Checks all options before the traces are loaded, so that a mistyped format fails at once.
Result<report::ExportOptions> read_options(const Arguments& arguments, const std::string& path) {
  report::ExportOptions options;
  if (arguments.has("--format")) options.format = arguments.all("--format").back();
  WEFT_ASSIGN(const report::ExportFormat format, report::find_format(options.format, path));
  options.format = format.name;
  if (arguments.has("--table")) options.table = arguments.all("--table").back();
  WEFT_TRY(report::check_options(options));
  return options;
}

Result<ExitCode> run_export(const Arguments& arguments, Console& console) {
  if (!arguments.has("-o")) {
    return fail(ErrorCode::kUsage, "-o OUT is missing (-o - writes to stdout)");
  }
  const std::string& path = arguments.all("-o").back();
  if (is_chakra(arguments, path)) return export_chakra(arguments, console, path);
  WEFT_ASSIGN(report::ExportOptions options, read_options(arguments, path));
  Diagnostics diagnostics;
  WEFT_ASSIGN(const predict::Job job, open_job(arguments, console, diagnostics));
  Progress progress(console.err);
  // Unlike verbs that print a page, export checks --strict before it writes anything.
  if (arguments.has("--strict")) WEFT_TRY(diagnostics.strict());
  options.progress = [&](std::int64_t done, std::int64_t total) {
    progress.show(fmt::format("writing {} %", total > 0 ? done * 100 / total : 100));
    return !interrupted();
  };
  if (path == kStandardOutput) {
    // Write directly to stdout, not to console.result: the export may be larger than memory.
    const auto sink = descriptor_sink(STDOUT_FILENO, "stdout");
    WEFT_TRY(report::export_job(job, options, *sink));
    WEFT_TRY(sink->close());
  } else {
    WEFT_TRY(report::export_file(job, options, path));
  }
  return ExitCode::kDone;
}

std::vector<std::string> format_names() {
  std::vector<std::string> names;
  for (const report::ExportFormat& format : report::export_formats()) names.push_back(format.name);
  names.emplace_back(kChakra);
  return names;
}

}  // namespace

Subcommand export_command() {
  Subcommand command;
  command.name = "export";
  command.description = "writes a timeline of all ranks for Perfetto, or tables";
  command.inputs = "INPUT...";
  command.min_inputs = 1;
  command.details =
      "--format or the extension of OUT selects the format; add .gz to compress the file:\n";
  for (const report::ExportFormat& format : report::export_formats()) {
    command.details +=
        fmt::format("  {:<14} {:<9} {}\n", format.name, format.extension, format.description);
  }
  command.details += fmt::format("  {:<14} {:<9} {}\n", kChakra, kChakraEnding,
                                 "execution traces for ASTRA-sim: OUT.RANK.et, one per rank");
  command.details += "OUT appears only when it is complete.";
  command.examples = {
      Example{"weft export examples/resnet50-w4 -o timeline.json.gz",
              "open it at ui.perfetto.dev or in chrome://tracing"},
      Example{"weft export examples/resnet50-w4 --format csv --table collectives -o -",
              "which rank came late to which collective"}};
  command.flags = {
      {"-o", "OUT", "the file to write; - means stdout", Flag::Value::kFile},
      {"--format", "F",
       "perfetto-json, perfetto, csv or chakra; default: decided by the extension of OUT",
       Flag::Value::kChoice, false, format_names()},
      {"--table", "T", "with csv: events, collectives or steps; default: events",
       Flag::Value::kText}};
  for (Flag& flag : loading_flags()) command.flags.push_back(std::move(flag));
  command.run = run_export;
  return command;
}

}  // namespace weft::cli
