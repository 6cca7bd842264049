// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "cli/shell/completions.h"

namespace weft::cli {
namespace {

// __weft_called prints the verb of the command line, or verb and sub-verb. The word that is being
// completed does not count. The script lists the sub-verbs in the case.
constexpr const char* kFishHead =
    R"(# Completion of weft for fish, written by: weft completions fish
function __weft_called
    set -l plain (string match -v -- '-*' (commandline -opc)[2..-1])
    switch "$plain[1] $plain[2]"
)";

constexpr const char* kFishMiddle = R"(            echo "$plain[1] $plain[2]"
        case '*'
            echo "$plain[1]"
    end
end
function __weft_is
    set -l called (__weft_called)
    test "$called" = "$argv"
end
complete -c weft -f
)";

/// Text as one word of fish.
std::string fish_word(const std::string& text) {
  std::string out = "'";
  for (const char letter : text) {
    if (letter == '\'' || letter == '\\') out += '\\';
    out += letter;
  }
  return out + "'";
}

/// A line of the script that offers something after the given verb.
std::string offer(const std::string& verb, const std::string& what) {
  return fmt::format("complete -c weft -n {} {}\n",
                     fish_word("__weft_is" + (verb.empty() ? "" : " " + verb)), what);
}

std::string fish_name(const std::string& flag) {
  const bool is_long = flag.starts_with("--");
  return (is_long ? "-l " : "-s ") + flag.substr(is_long ? 2 : 1);
}

std::string offer_flag(const std::string& verb, const Flag& flag) {
  std::string what = fish_name(flag.name);
  if (!flag.short_name.empty()) what += " " + fish_name(flag.short_name);
  if (flag.value == Flag::Value::kFile) {
    what += " -r -F";
  } else if (flag.value == Flag::Value::kFolder) {
    what += " -x -a '(__fish_complete_directories)'";
  } else if (flag.value != Flag::Value::kNone) {
    what += " -x";
    if (!flag.choices.empty()) {
      what += " -a " + fish_word(fmt::format("{}", fmt::join(flag.choices, " ")));
    }
  }
  return offer(verb, what + " -d " + fish_word(flag.help));
}

/// The lines of the script for a verb and its sub-verbs.
std::string fish_lines(const Subcommand& command) {
  std::string out;
  for (const Flag& flag : flags_of(command)) out += offer_flag(command.name, flag);
  for (const Subcommand& sub_verb : command.sub_verbs) {
    out += offer(command.name,
                 fmt::format("-a {} -d {}", sub_verb.own_name(), fish_word(sub_verb.description)));
  }
  if (command.input_choices) {
    const std::vector<std::string> choices = command.input_choices();
    out += offer(command.name, "-a " + fish_word(fmt::format("{}", fmt::join(choices, " "))));
  } else if (command.max_inputs > 0) {
    out += offer(command.name, "-F");
  }
  for (const Subcommand& sub_verb : command.sub_verbs) out += fish_lines(sub_verb);
  return out;
}

}  // namespace

std::string fish_completions(const std::vector<Subcommand>& commands) {
  std::string names;
  for (const Subcommand& command : commands) {
    for (const Subcommand& sub_verb : command.sub_verbs) names += " " + fish_word(sub_verb.name);
  }
  std::string out = std::string(kFishHead) + "        case" + names + "\n" + kFishMiddle;
  for (const Flag& flag : program_flags()) out += offer_flag("", flag);
  for (const Subcommand& command : commands) {
    out += offer("", fmt::format("-a {} -d {}", command.name, fish_word(command.description)));
  }
  for (const Subcommand& command : commands) out += fish_lines(command);
  return out;
}

}  // namespace weft::cli
