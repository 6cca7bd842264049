// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "cli/shell/completions.h"

namespace weft::cli {
namespace {

constexpr const char* kZshHead = R"(#compdef weft
# Completion of weft for zsh, written by: weft completions zsh
)";

constexpr const char* kZshMain = R"(_weft() {
  local context state line curcontext=$curcontext
  typeset -A opt_args
)";

// The file works in two ways: as an autoloaded function (its name is then _weft), and sourced.
constexpr const char* kZshTail = R"(      esac
      ;;
  esac
}
if [[ ${funcstack[1]} == _weft ]]; then
  _weft "$@"
else
  compdef _weft weft
fi
)";

/// Escapes text that will stand between single quotes in an argument of zsh's _arguments. The
/// characters in `special` have a meaning there.
std::string escaped(const std::string& text, std::string_view special) {
  std::string out;
  for (const char letter : text) {
    if (letter == '\'') {
      out += "'\\''";
      continue;
    }
    if (special.find(letter) != std::string_view::npos) out += '\\';
    out += letter;
  }
  return out;
}

std::string list_of(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) {
    out += (out.empty() ? "" : " ") + escaped(word, "\\: ()");
  }
  return "(" + out + ")";
}

std::string value_spec(const Flag& flag) {
  if (flag.value == Flag::Value::kNone) return "";
  std::string action;
  if (flag.value == Flag::Value::kFile) action = "_files";
  if (flag.value == Flag::Value::kFolder) action = "_files -/";
  if (!flag.choices.empty()) action = list_of(flag.choices);
  return ":" + escaped(flag.value_name, "\\:") + ":" + action;
}

/// The specifications of a flag for zsh's _arguments: one for each name of the flag.
std::string flag_specs(const Flag& flag) {
  std::string out;
  std::string others;
  if (flag.repeatable) {
    others = "*";
  } else if (!flag.short_name.empty()) {
    others = fmt::format("({} {})", flag.short_name, flag.name);
  }
  for (const std::string& name : {flag.short_name, flag.name}) {
    if (name.empty()) continue;
    // A value may be the next word, or follow "=", or directly follow a short flag.
    const char* joined = flag.value == Flag::Value::kNone ? "" : name.size() == 2 ? "+" : "=";
    out += fmt::format(" \\\n            '{}{}{}[{}]{}'", others, name, joined,
                       escaped(flag.help, "\\[]:"), value_spec(flag));
  }
  return out;
}

/// Elements of an array for zsh's _describe: each is a name with its description.
std::string described(const std::vector<Subcommand>& commands) {
  std::string out;
  for (const Subcommand& command : commands) {
    out +=
        fmt::format("        '{}:{}'\n", command.own_name(), escaped(command.description, "\\:"));
  }
  return out;
}

/// A function of the script for a verb with sub-verbs. It completes the first input, which may be
/// the name of a sub-verb or a file.
std::string first_input_function(const Subcommand& verb) {
  if (verb.sub_verbs.empty()) return "";
  return fmt::format("_weft_{}() {{\n  local -a names=(\n{}      )\n", verb.name,
                     described(verb.sub_verbs)) +
         "  _describe sub-verb names\n  _files\n}\n";
}

std::string input_spec(const Subcommand& command) {
  if (!command.sub_verbs.empty()) {
    return fmt::format(" \\\n            '1:{} or sub-verb:_weft_{}'",
                       escaped(command.inputs, "\\:"), command.name);
  }
  if (command.max_inputs == 0) return "";
  const std::string action = command.input_choices ? list_of(command.input_choices()) : "_files";
  const bool one = command.max_inputs == 1 || command.first_input_only;
  const char* others = command.first_input_only ? " '*:file:_files'" : "";
  return fmt::format(" \\\n            '{}:{}:{}'{}", one ? "1" : "*",
                     escaped(command.inputs, "\\:"), action, others);
}

/// The part of the script that finds the sub-verb. It shifts `words` and CURRENT so that they start
/// at the sub-verb, as _arguments needs it.
std::string sub_verb_switch(const Subcommand& verb) {
  std::string patterns;
  for (const Subcommand& sub_verb : verb.sub_verbs) {
    patterns += fmt::format("{}'{}'", patterns.empty() ? "" : "|", sub_verb.name);
  }
  if (patterns.empty()) return "";
  return fmt::format("          {})\n            called=\"$words[1] $words[2]\"\n", patterns) +
         "            shift words\n            (( CURRENT-- ))\n            ;;\n";
}

/// The branches of the script for a verb and its sub-verbs.
std::string zsh_cases(const Subcommand& command) {
  std::string out = fmt::format("        '{}')\n          _arguments", command.name);
  for (const Flag& flag : flags_of(command)) out += flag_specs(flag);
  out += input_spec(command) + "\n          ;;\n";
  for (const Subcommand& sub_verb : command.sub_verbs) out += zsh_cases(sub_verb);
  return out;
}

}  // namespace

std::string zsh_completions(const std::vector<Subcommand>& commands) {
  std::string out = kZshHead;
  for (const Subcommand& command : commands) out += first_input_function(command);
  out += kZshMain;
  out += "  _arguments -C";
  for (const Flag& flag : program_flags()) out += flag_specs(flag);
  out += " \\\n            '1:verb:->verb' '*:: :->rest'\n";
  out += "  case $state in\n    verb)\n      local -a verbs=(\n";
  out += described(commands);
  out += "      )\n      _describe verb verbs\n      ;;\n";
  out += "    rest)\n      local called=$words[1]\n";
  out += "      if (( CURRENT > 2 )); then\n        case \"$words[1] $words[2]\" in\n";
  for (const Subcommand& command : commands) out += sub_verb_switch(command);
  out += "        esac\n      fi\n      case $called in\n";
  for (const Subcommand& command : commands) out += zsh_cases(command);
  return out + kZshTail;
}

}  // namespace weft::cli
