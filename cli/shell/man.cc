// SPDX-License-Identifier: Apache-2.0
// `weft man [VERB [SUB-VERB]]`: prints man pages, or writes all of them into a folder.
#include "cli/shell/man.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "cli/commands.h"
#include "cli/shell/help.h"
#include "weft/base/file.h"

namespace weft::cli {
namespace {

/// Escapes text so that roff prints it unchanged: hyphens can be copied, and roff does not take a
/// line for a command. Line breaks become blanks, because roff breaks the lines itself.
std::string plain(std::string_view text) {
  std::string out;
  if (text.starts_with('.') || text.starts_with('\'')) out = "\\&";
  for (const char letter : text) {
    if (letter == '\\') {
      out += "\\e";
    } else if (letter == '-') {
      out += "\\-";
    } else {
      out += letter == '\n' ? ' ' : letter;
    }
  }
  return out;
}

std::string title(const std::string& page, std::string_view description) {
  std::string upper = page;
  std::transform(upper.begin(), upper.end(), upper.begin(),
                 [](unsigned char letter) { return std::toupper(letter); });
  return fmt::format(".TH {} 1 \"\" \"weft {}\" \"Weft\"\n.SH NAME\n{} \\- {}\n", plain(upper),
                     WEFT_VERSION, plain(page), plain(description));
}

/// "weft-pipeline-compare".
std::string page_name(const Subcommand& command) {
  std::string name = "weft-" + command.name;
  std::replace(name.begin(), name.end(), ' ', '-');
  return name;
}

/// A reference to a page, "weft-replay (1)", as an argument list of .BR. The "\%" keeps roff from
/// breaking the name with a hyphen, because users type the name.
std::string reference(const std::string& page) { return fmt::format(".BR \\%{} (1)", plain(page)); }

std::string section(const char* name) { return fmt::format(".SH {}\n", name); }

/// A bold term with its explanation indented below.
std::string entry(std::string_view term, std::string_view text) {
  return fmt::format(".TP\n.B {}\n{}\n", plain(term), plain(text));
}

std::string flag_entries(const std::vector<Flag>& flags) {
  std::string out;
  for (const Flag& flag : flags) {
    std::string text = flag.help + (flag.repeatable ? " (repeatable)" : "");
    if (!flag.choices.empty()) {
      text += fmt::format("; {}: {}", flag.value == Flag::Value::kChoice ? "one of" : "such as",
                          fmt::join(flag.choices, ", "));
    }
    out += entry(spelled(flag), text);
  }
  return out;
}

Status write_pages(const std::string& folder, const std::vector<Subcommand>& commands) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return fail(ErrorCode::kIo, "cannot make the folder: " + error.message(), folder);
  WEFT_TRY(write_file(folder + "/weft.1", program_page(commands)));
  for (const Subcommand& command : commands) {
    WEFT_TRY(write_file(fmt::format("{}/{}.1", folder, page_name(command)), verb_page(command)));
    for (const Subcommand& sub_verb : command.sub_verbs) {
      WEFT_TRY(
          write_file(fmt::format("{}/{}.1", folder, page_name(sub_verb)), verb_page(sub_verb)));
    }
  }
  return {};
}

Result<ExitCode> run_man(const Arguments& arguments, Console& console) {
  const std::vector<Subcommand> commands = all_commands();
  if (arguments.has("-o")) {
    WEFT_TRY(write_pages(arguments.all("-o").back(), commands));
  } else if (arguments.inputs.empty()) {
    console.result = program_page(commands);
  } else {
    WEFT_ASSIGN(const Subcommand* command, command_named(commands, arguments.inputs));
    console.result = verb_page(*command);
  }
  return ExitCode::kDone;
}

}  // namespace

std::string program_page(const std::vector<Subcommand>& commands) {
  std::string out = title("weft", kProgramDescription);
  out += section("SYNOPSIS") + ".B weft\n.I VERB INPUT... \n[\\fIFLAG\\fR]...\n";
  out += section("DESCRIPTION");
  out +=
      "INPUT is a file, a folder, a quoted glob, or \\- for standard input. The result goes to "
      "standard output. Everything else goes to standard error.\n";
  out += section("VERBS");
  for (const Subcommand& command : commands) {
    out += entry(command.name, command.description);
  }
  out += section("OPTIONS") + flag_entries(program_flags());
  out += section("EXIT STATUS");
  for (const ExitMeaning& exit : kExitMeanings) {
    out += entry(std::to_string(static_cast<int>(exit.code)), exit.meaning);
  }
  out += section("ENVIRONMENT");
  for (const Variable& variable : kVariables) out += entry(variable.name, variable.meaning);
  out += section("SEE ALSO");
  std::string also;
  for (const Subcommand& command : commands) {
    also += (also.empty() ? "" : " ,\n") + reference(page_name(command));
  }
  return out + also + "\n";
}

std::string verb_page(const Subcommand& command) {
  std::string out = title(page_name(command), command.description);
  out += section("SYNOPSIS");
  const std::vector<std::string> usage = usage_lines(command);
  for (const std::string& line : usage) {
    out += fmt::format("{}{}\n", &line == &usage.front() ? "" : ".br\n", plain(line));
  }
  if (!command.details.empty()) {
    out += section("DESCRIPTION");
    for (const std::string& text : paragraphs(command)) {
      if (text.empty()) {
        out += ".PP\n";
        continue;
      }
      const bool as_it_is = text.starts_with(' ');
      out += as_it_is ? ".nf\n" + plain(text) + "\n.fi\n" : plain(text) + "\n";
    }
  }
  if (command.input_choices && !command.first_input_only) {
    out += fmt::format(".PP\n{} is one of: {}\n", plain(command.inputs),
                       plain(fmt::format("{}", fmt::join(command.input_choices(), ", "))));
  }
  if (!command.sub_verbs.empty()) {
    out += section("SUB\\-VERBS");
    for (const Subcommand& sub_verb : command.sub_verbs) {
      out += entry(sub_verb.own_name(), sub_verb.description);
    }
  }
  out += section("OPTIONS") + flag_entries(flags_of(command));
  out += section("EXAMPLES");
  for (const Example& example : command.examples) {
    out += entry(example.command, example.what);
  }
  out += section("SEE ALSO") + ".BR weft (1)";
  for (const Subcommand& sub_verb : command.sub_verbs) {
    out += " ,\n" + reference(page_name(sub_verb));
  }
  const std::size_t verb_end = command.name.find(' ');
  if (verb_end != std::string::npos) {
    out += " ,\n" + reference("weft-" + command.name.substr(0, verb_end));
  }
  return out + "\n";
}

Subcommand man_command() {
  Subcommand command;
  command.name = "man";
  command.description = "prints the man page of Weft or of one verb, as roff";
  command.inputs = "[VERB [SUB-VERB]]";
  command.max_inputs = 2;
  command.input_choices = verb_names;
  command.first_input_only = true;
  command.details = "If Weft is installed, man finds its pages: man weft, man weft-replay.";
  command.examples = {Example{"weft man replay | man -l -", "read the page of one verb"},
                      Example{"weft man -o share/man/man1", "write all pages into a folder"}};
  command.flags = {{"-o", "FOLDER", "write all pages into this folder", Flag::Value::kFolder}};
  command.run = run_man;
  return command;
}

}  // namespace weft::cli
