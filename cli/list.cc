// SPDX-License-Identifier: Apache-2.0
// `weft list [THING]`: lists the readers, what-ifs or findings of this build, one line each.
#include "cli/commands.h"
#include "weft/diagnose/findings.h"
#include "weft/predict/what_if.h"
#include "weft/trace/formats/execution_trace/execution_trace.h"
#include "weft/trace/formats/probe/probe.h"
#include "weft/trace/reader.h"

namespace weft::cli {
namespace {

std::string list_readers(const Terminal& terminal) {
  Table table({{"reader", Align::kLeft, false}, {"reads", Align::kLeft, false, true}});
  for (const auto& reader : trace::readers()) {
    table.add_row({reader->name(), reader->description()});
  }
  // Execution traces and logs of probes are not in readers(), since these files usually add to a
  // trace of another reader.
  table.add_row({trace::kExecutionTraceName, trace::kExecutionTraceDescription});
  table.add_row({trace::kProbeLogName, trace::kProbeLogDescription});
  return table.print(terminal);
}

std::string list_what_ifs(const Terminal& terminal) {
  Table table({{"what-if", Align::kLeft, false}, {"asks", Align::kLeft, false, true}});
  for (const predict::WhatIfKey& key : predict::what_if_keys()) {
    table.add_row({key.example, key.meaning});
  }
  return table.print(terminal);
}

std::string list_findings(const Terminal& terminal) {
  Table table({{"finding", Align::kLeft, false}, {"means", Align::kLeft, false, true}});
  for (const diagnose::FindingKindInfo& info : diagnose::finding_kinds()) {
    table.add_row({info.id, info.description});
  }
  return table.print(terminal);
}

struct Listing {
  std::string name;
  std::string (*print)(const Terminal&);
};

std::vector<Listing> listings() {
  return {{"readers", list_readers}, {"what-ifs", list_what_ifs}, {"findings", list_findings}};
}

std::vector<std::string> listing_names() {
  std::vector<std::string> names;
  for (const Listing& listing : listings()) names.push_back(listing.name);
  return names;
}

Result<ExitCode> run_list(const Arguments& arguments, Console& console) {
  const bool all = arguments.inputs.empty();
  for (const Listing& listing : listings()) {
    if (!all && listing.name != arguments.inputs.front()) continue;
    if (!console.result.empty()) console.result += "\n";
    console.result += listing.print(console.out);
  }
  return ExitCode::kDone;
}

}  // namespace

Subcommand list_command() {
  Subcommand command;
  command.name = "list";
  command.description = "lists the trace readers, what-ifs or findings of this Weft";
  command.inputs = "[THING]";
  command.max_inputs = 1;
  command.input_choices = listing_names;
  command.details =
      "Without THING, it lists everything. "
      "THING is readers (the trace formats that Weft reads), what-ifs (the changes that weft "
      "replay can predict) or findings (the causes of lost time that weft diagnose looks for).";
  command.examples = {Example{"weft list readers", "the trace formats that Weft reads"},
                      Example{"weft list what-ifs", "the changes that weft replay can predict"}};
  command.run = run_list;
  return command;
}

}  // namespace weft::cli
