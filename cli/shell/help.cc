// SPDX-License-Identifier: Apache-2.0
// `weft help [VERB [SUB-VERB]]`: prints help. `weft VERB [SUB-VERB] --help` is the same.
#include "cli/shell/help.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "cli/commands.h"
#include "cli/shell/format.h"
#include "weft/base/suggest.h"

namespace weft::cli {
namespace {

constexpr std::size_t kPlainWidth = 100;  ///< if the width of the terminal is unknown

/// A text normally stands beside its name. If the room beside the name is narrower than this, the
/// text stands below the name.
constexpr std::size_t kLeastBeside = 20;
constexpr std::size_t kBelow = 6;  ///< indent of text below a name

std::size_t width_of(const Terminal& terminal) {
  return terminal.columns > 0 ? static_cast<std::size_t>(terminal.columns) : kPlainWidth;
}

std::string indented(const std::string& text, std::size_t indent, const Terminal& terminal) {
  const std::size_t width = width_of(terminal);
  std::string out;
  for (const std::string& line : wrap(text, width > indent ? width - indent : 1, 0)) {
    out += std::string(indent, ' ') + line + "\n";
  }
  return out;
}

/// Puts `left` in a column, and `right` beside it or, on a narrow terminal, below it.
std::string entry(const std::string& left, std::size_t column, const std::string& right,
                  const Terminal& terminal, Tone tone = Tone::kPlain) {
  const std::string name = "  " + paint(terminal, tone, left);
  const std::size_t indent = 2 + column + 2;
  if (indent + kLeastBeside > width_of(terminal)) {
    return name + "\n" + indented(right, kBelow, terminal);
  }
  std::string out = indented(right, indent, terminal);
  return out.replace(0, 2 + left.size(), name);
}

/// The entries of a help text for verbs or sub-verbs.
std::string name_entries(const std::vector<Subcommand>& commands, const Terminal& terminal) {
  std::size_t column = 0;
  for (const Subcommand& command : commands) column = std::max(column, command.own_name().size());
  std::string out;
  for (const Subcommand& command : commands) {
    out += entry(command.own_name(), column, command.description, terminal, Tone::kBold);
  }
  return out;
}

Result<ExitCode> run_help(const Arguments& arguments, Console& console) {
  const std::vector<Subcommand> commands = all_commands();
  if (arguments.inputs.empty()) {
    console.result = overview(commands, console.out);
  } else {
    WEFT_ASSIGN(const Subcommand* command, command_named(commands, arguments.inputs));
    console.result = verb_help(*command, console.out);
  }
  return ExitCode::kDone;
}

}  // namespace

std::string spelled(const Flag& flag) {
  const std::string names =
      flag.short_name.empty() ? flag.name : flag.short_name + ", " + flag.name;
  return flag.value_name.empty() ? names : names + " " + flag.value_name;
}

std::vector<std::string> usage_lines(const Subcommand& command) {
  if (command.inputs.starts_with("-- ")) {  // a flag after COMMAND belongs to COMMAND
    return {fmt::format("weft {} [FLAG]... {}", command.name, command.inputs)};
  }
  std::vector<std::string> lines = {fmt::format("weft {}{}{} [FLAG]...", command.name,
                                                command.inputs.empty() ? "" : " ", command.inputs)};
  if (!command.sub_verbs.empty()) {
    lines.push_back(fmt::format("weft {} SUB-VERB INPUT... [FLAG]...", command.name));
  }
  return lines;
}

Result<const Subcommand*> command_named(const std::vector<Subcommand>& commands,
                                        const std::vector<std::string>& inputs) {
  const Subcommand* verb = find_verb(commands, inputs.front());
  if (inputs.size() == 1) return verb;
  if (const Subcommand* sub_verb = find_sub_verb(*verb, inputs[1])) return sub_verb;
  std::vector<std::string> known;
  for (const Subcommand& sub_verb : verb->sub_verbs) known.push_back(sub_verb.own_name());
  return fail(ErrorCode::kUsage,
              fmt::format("{} has no sub-verb '{}'{} (see weft help {})", verb->name, inputs[1],
                          did_you_mean(inputs[1], known), verb->name));
}

std::vector<std::string> paragraphs(const Subcommand& command) {
  std::vector<std::string> found;
  std::istringstream lines(command.details);
  bool joins = false;
  for (std::string line; std::getline(lines, line);) {
    // Indented lines are tables or lists. Their lines must not be joined.
    const bool as_it_is = line.empty() || line.starts_with(' ');
    if (joins && !as_it_is) {
      found.back() += " " + line;
    } else {
      found.push_back(line);
    }
    joins = !as_it_is;
  }
  return found;
}

std::string verb_help(const Subcommand& command, const Terminal& terminal) {
  const std::size_t width = width_of(terminal);
  std::string out =
      wrapped(fmt::format("weft {}: {}", command.name, command.description), width, 2) + "\n";
  for (const Example& example : command.examples) {
    out += fmt::format("  {}\n", paint(terminal, Tone::kBold, example.command));
    out += indented(example.what, kBelow, terminal);
  }
  const char* label = "\nusage: ";
  for (const std::string& line : usage_lines(command)) {
    out += fmt::format("{}{}\n", label, line);
    label = "       ";
  }
  if (!command.details.empty()) {
    out += "\n";
    for (const std::string& text : paragraphs(command)) {
      out += text.empty() || text.starts_with(' ') ? text + "\n" : wrapped(text, width, 0);
    }
  }
  if (!command.sub_verbs.empty()) {
    out += fmt::format("\nsub-verbs (weft {} SUB-VERB --help shows the flags)\n", command.name);
    out += name_entries(command.sub_verbs, terminal);
  }
  const std::vector<Flag> flags = flags_of(command);
  std::size_t column = 0;
  for (const Flag& flag : flags) column = std::max(column, spelled(flag).size());
  out += "\nflags\n";
  for (const Flag& flag : flags) {
    out += entry(spelled(flag), column, flag.help + (flag.repeatable ? " (repeatable)" : ""),
                 terminal);
  }
  return out;
}

std::string overview(const std::vector<Subcommand>& commands, const Terminal& terminal) {
  std::string out = wrapped(std::string("weft: ") + kProgramDescription, width_of(terminal), 2);
  out += "\nusage: weft VERB INPUT... [FLAG]...\n\n";
  out += name_entries(commands, terminal);
  return out + "\n" +
         wrapped("weft --version shows the version, and weft VERB --help the flags of a verb.",
                 width_of(terminal), 2);
}

Subcommand help_command() {
  Subcommand command;
  command.name = "help";
  command.description = "shows all verbs, or the flags and examples of one verb";
  command.inputs = "[VERB [SUB-VERB]]";
  command.max_inputs = 2;
  command.input_choices = verb_names;
  command.first_input_only = true;
  command.examples = {Example{"weft help", "all verbs"},
                      Example{"weft help replay", "the same as weft replay --help"}};
  command.run = run_help;
  return command;
}

}  // namespace weft::cli
