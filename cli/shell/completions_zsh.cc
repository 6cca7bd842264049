// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "cli/shell/completions.h"

namespace weft::cli {
namespace {

constexpr const char* kZshHead = R"(#compdef weft
# Completion of weft for zsh, written by: weft completions zsh
_weft() {
  local context state line curcontext=$curcontext
  typeset -A opt_args
)";

// The file serves as an autoloaded function (its name is _weft then) and can be sourced.
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

/// For a place between single quotes, where zsh's _arguments gives a meaning to `special`.
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

/// One spec of _arguments for each name of the flag.
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
    // A value may be the next word, or stand behind "=" or right behind a short flag.
    const char* joined = flag.value == Flag::Value::kNone ? "" : name.size() == 2 ? "+" : "=";
    out += fmt::format(" \\\n            '{}{}{}[{}]{}'", others, name, joined,
                       escaped(flag.help, "\\[]:"), value_spec(flag));
  }
  return out;
}

std::string input_spec(const Subcommand& command) {
  if (command.max_inputs == 0) return "";
  const std::string action = command.input_choices ? list_of(command.input_choices()) : "_files";
  const bool one = command.max_inputs == 1 || command.first_input_only;
  const char* others = command.first_input_only ? " '*:file:_files'" : "";
  return fmt::format(" \\\n            '{}:{}:{}'{}", one ? "1" : "*",
                     escaped(command.inputs, "\\:"), action, others);
}

}  // namespace

std::string zsh_completions(const std::vector<Subcommand>& commands) {
  std::string out = kZshHead;
  out += "  _arguments -C";
  for (const Flag& flag : program_flags()) out += flag_specs(flag);
  out += " \\\n            '1:verb:->verb' '*:: :->rest'\n";
  out += "  case $state in\n    verb)\n      local -a verbs=(\n";
  for (const Subcommand& command : commands) {
    out += fmt::format("        '{}:{}'\n", command.name, escaped(command.description, "\\:"));
  }
  out += "      )\n      _describe verb verbs\n      ;;\n";
  out += "    rest)\n      case $words[1] in\n";
  for (const Subcommand& command : commands) {
    out += fmt::format("        {})\n          _arguments", command.name);
    for (const Flag& flag : flags_of(command)) out += flag_specs(flag);
    out += input_spec(command) + "\n          ;;\n";
  }
  return out + kZshTail;
}

}  // namespace weft::cli
