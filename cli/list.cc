// SPDX-License-Identifier: Apache-2.0
// `weft list THING`: what this build knows, each with its one-line description.
#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/suggest.h"
#include "weft/trace/reader.h"

namespace weft::cli {
namespace {

std::string list_readers(const Terminal& terminal) {
  Table table({{"reader", Align::kLeft, false}, {"reads", Align::kLeft, false}});
  for (const auto& reader : trace::readers()) {
    table.add_row({reader->name(), reader->description()});
  }
  return table.print(terminal);
}

Result<ExitCode> run_list(const Arguments& arguments, Console& console) {
  const std::string& thing = arguments.inputs.at(0);
  if (thing == "readers") {
    console.result = list_readers(console.out);
    return ExitCode::kDone;
  }
  return fail(ErrorCode::kUsage, fmt::format("nothing is listed as '{}'{} (there are: readers)",
                                             thing, did_you_mean(thing, {"readers"})));
}

}  // namespace

Subcommand list_command() {
  Subcommand command;
  command.name = "list";
  command.description = "what this build of Weft knows: readers";
  command.inputs = "THING";
  command.min_inputs = 1;
  command.max_inputs = 1;
  command.examples = {Example{"weft list readers", "the trace formats that can be read"},
                      Example{"weft list readers | grep -i pytorch", "those of one framework"}};
  command.run = run_list;
  return command;
}

}  // namespace weft::cli
