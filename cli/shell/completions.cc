// SPDX-License-Identifier: Apache-2.0
// `weft completions SHELL`: prints a completion script.
#include "cli/shell/completions.h"

#include "cli/commands.h"
#include "cli/output.h"

namespace weft::cli {
namespace {

Result<ExitCode> run_completions(const Arguments& arguments, Console& console) {
  const std::vector<Subcommand> commands = all_commands();
  const std::string& shell = arguments.inputs.front();
  const std::string script = shell == "bash"  ? bash_completions(commands)
                             : shell == "zsh" ? zsh_completions(commands)
                                              : fish_completions(commands);
  if (arguments.has("-o")) {
    WEFT_TRY(write_output(console, arguments.all("-o").back(), script));
  } else {
    console.result = script;
  }
  return ExitCode::kDone;
}

}  // namespace

Subcommand completions_command() {
  Subcommand command;
  command.name = "completions";
  command.description = "prints a script that completes verbs, flags and values in shells";
  command.inputs = "SHELL";
  command.min_inputs = 1;
  command.max_inputs = 1;
  command.input_choices = [] { return std::vector<std::string>{"bash", "zsh", "fish"}; };
  command.details =
      "If Weft is installed, the shells find the scripts by themselves. Otherwise, add the line "
      "source <(weft completions SHELL) to the start file of the shell; zsh needs compinit before "
      "that line. For fish, the line is weft completions fish | source.";
  command.examples = {Example{"weft completions bash", "source <(weft completions bash)"},
                      Example{"weft completions zsh", "source <(weft completions zsh)"}};
  command.flags = {{"-o", "FILE", "write the script to a file", Flag::Value::kFile}};
  command.run = run_completions;
  return command;
}

}  // namespace weft::cli
