// SPDX-License-Identifier: Apache-2.0
// `weft info`: shows what traces contain, what is wrong with them, and which profiler setting to
// change. For link tables it shows latency and bandwidth.
#include <algorithm>

#include "cli/commands.h"
#include "cli/info/links_summary.h"
#include "cli/info/summary.h"
#include "cli/loading.h"
#include "weft/base/json/writer.h"

namespace weft::cli {
namespace {

Result<ExitCode> tell_links(const Arguments& arguments, Console& console) {
  WEFT_ASSIGN(const std::vector<cost::LinkTable> tables, cost::read_links(arguments.inputs));
  if (arguments.has("--json")) {
    JsonWriter json;
    json.begin_object().field("schema_version", 1).field("command", "info");
    json.key("links");
    write_links_summary(json, tables);
    console.result = json.end_object().take() + "\n";
  } else {
    console.result = links_text(tables, console.out);
  }
  return ExitCode::kDone;
}

Result<ExitCode> run_info(const Arguments& arguments, Console& console) {
  if (all_are_links(arguments.inputs)) return tell_links(arguments, console);
  Diagnostics diagnostics;
  WEFT_ASSIGN(const trace::Recording recording, load_inputs(arguments, console, diagnostics));
  std::vector<RunSummary> runs;
  std::vector<Advice> advice;
  for (const trace::Run& run : recording.runs) {
    runs.push_back(summarise(run));
    // Runs of one folder come from one script, so they share most advice: list each advice once.
    for (Advice& item : advise(runs.back())) {
      const bool known = std::any_of(advice.begin(), advice.end(), [&](const Advice& other) {
        return std::string_view(other.id) == item.id;
      });
      if (!known) advice.push_back(std::move(item));
    }
  }
  console.result = arguments.has("--json")
                       ? info_json(runs, advice, diagnostics)
                       : info_text(runs, advice, diagnostics, arguments.has("--all"), console.out);
  // The page is shown even if --strict fails, because it tells the user why.
  if (arguments.has("--strict")) WEFT_TRY(diagnostics.strict());
  return ExitCode::kDone;
}

}  // namespace

Subcommand info_command() {
  Subcommand command;
  command.name = "info";
  command.description = "shows what traces contain and which profiler setting to change";
  command.inputs = "INPUT...";
  command.min_inputs = 1;
  command.details =
      "INPUT is a file, a folder or a quoted glob. Weft recognises the format and gzip by the "
      "content of a file, and reads the rank and the number of ranks from it. The column host "
      "steps is the time between step marks on the host; the host may run ahead of its device. "
      "If INPUT is a link table (of weft calibrate), the page shows latency and bandwidth.";
  command.examples = {
      Example{"weft info examples/resnet50-w4", "all ranks of a folder"},
      Example{"weft info --json examples/resnet50-w4", "the same as JSON, for other programs"}};
  command.flags = loading_flags();
  command.flags.push_back(
      {"--all", "", "show every rank, problem and place, however long the page gets"});
  command.flags.push_back({"--json", "", "print JSON, schema_version 1 (docs/reference/cli.md)"});
  command.run = run_info;
  return command;
}

}  // namespace weft::cli
