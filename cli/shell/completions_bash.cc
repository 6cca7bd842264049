// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "cli/shell/completions.h"

namespace weft::cli {
namespace {

// Makes the completion script for bash. bash also splits words at = and : (COMP_WORDBREAKS), which
// would divide KEY=VALUE and rank:2.compute. So the script splits the line again, only at blanks.
// But bash replaces only what follows the last = or : of the word. So the script removes the part
// up to this character from everything that it offers.
//
// Variables of the script:
//   verb    the verb, or verb and sub-verb
//   flag    the word before the word that is completed
//   next    the index of the first word after the verb that is no flag
//   first   whether the first input is being completed
//   files   not empty if files are offered as well
constexpr const char* kBashHead =
    R"(# Completion of weft for bash, written by: weft completions bash
_weft() {
  local line=${COMP_LINE:0:COMP_POINT} verb="" prefix="" index
  local -a words offer=() flags=() files=()
  read -ra words <<<"$line"
  [[ $line == *[[:space:]] ]] && words+=("")
  local last=$((${#words[@]} - 1))
  local word=${words[last]} flag=${words[last - 1]}
  [[ $word == --*=* ]] && flag=${word%%=*} prefix=${word%%=*}=
  for ((index = 1; index < last; ++index)); do
    [[ ${words[index]} == -* ]] || { verb=${words[index]}; break; }
  done
  local next
  for ((next = index + 1; next < last; ++next)); do
    [[ ${words[next]} == -* ]] || break
  done
  local first=$((next == last))
)";

constexpr const char* kQuestion = R"(  COMPREPLY=()
  case "$verb $flag" in
)";

constexpr const char* kMiddle = R"(    *)
      prefix=""
      case $verb in
)";

constexpr const char* kBashTail = R"(      esac
      [[ $word == -* ]] && offer=("${flags[@]}")
      [[ ${#offer[@]} -eq 0 && $word != -* ]] && return
      ;;
  esac
  compopt +o default 2>/dev/null
  local candidate finished="" breaks=${COMP_WORDBREAKS//[^=:]/}
  [[ -n $breaks ]] && finished=${word%"${word##*["$breaks"]}"}
  if [[ ${#files[@]} -gt 0 && $word != -* ]]; then
    compopt -o filenames 2>/dev/null
    mapfile -t -O "${#offer[@]}" offer < <(compgen -f -- "$word")
  fi
  for candidate in "${offer[@]}"; do
    candidate=$prefix$candidate
    [[ $candidate == "$word"* ]] && COMPREPLY+=("${candidate#"$finished"}")
  done
}
complete -o default -F _weft weft
)";

std::string quoted(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "'" : " '") + word + "'";
  return out;
}

/// The branch of the script that completes the value of a flag. If the branch only returns,
/// readline offers files.
std::string value_case(const Subcommand& command, const Flag& flag) {
  std::string pattern = fmt::format("\"{} {}\"", command.name, flag.name);
  if (!flag.short_name.empty()) {
    pattern += fmt::format(" | \"{} {}\"", command.name, flag.short_name);
  }
  std::string action;
  switch (flag.value) {
    case Flag::Value::kNone:
      return "";
    case Flag::Value::kFile:
      action = "return";
      break;
    case Flag::Value::kFolder:
      action = "compopt +o default -o dirnames 2>/dev/null; return";
      break;
    case Flag::Value::kText:
    case Flag::Value::kWhole:
    case Flag::Value::kChoice:
      action = fmt::format("offer=({})", quoted(flag.choices));
      break;
  }
  return fmt::format("    {}) {} ;;\n", pattern, action);
}

/// The branch of the script that finds the sub-verb. After it, `verb` is "pipeline compare" if the
/// line names a sub-verb. The word that is being completed does not count as a sub-verb yet.
std::string sub_verb_case(const Subcommand& command) {
  if (command.sub_verbs.empty()) return "";
  std::string patterns;
  for (const Subcommand& sub_verb : command.sub_verbs) {
    patterns += fmt::format("{}'{}'", patterns.empty() ? "" : " | ", sub_verb.name);
  }
  return fmt::format("    {}) ((next < last)) && verb+=\" ${{words[next]}}\" first=0 ;;\n",
                     patterns);
}

/// Offers sub-verbs and files for the first input, because it may be either.
std::string sub_verb_offer(const Subcommand& command) {
  std::vector<std::string> names;
  for (const Subcommand& sub_verb : command.sub_verbs) names.push_back(sub_verb.own_name());
  return names.empty() ? "" : fmt::format("; ((first)) && offer=({}) files=(1)", quoted(names));
}

std::string verb_case(const std::string& verb, const std::vector<Flag>& flags,
                      const std::vector<std::string>& inputs, bool first_input_only = false,
                      const std::string& more = "") {
  std::vector<std::string> names;
  for (const Flag& flag : flags) {
    names.push_back(flag.name);
    if (!flag.short_name.empty()) names.push_back(flag.short_name);
  }
  std::string actions = fmt::format("flags=({})", quoted(names));
  if (!inputs.empty()) {
    actions +=
        fmt::format("{} offer=({})", first_input_only ? "; ((first)) &&" : "", quoted(inputs));
  }
  return fmt::format("        '{}') {}{} ;;\n", verb, actions, more);
}

/// The branches of the script for a verb and its sub-verbs.
std::string bash_cases(const Subcommand& command) {
  std::string out =
      verb_case(command.name, flags_of(command),
                command.input_choices ? command.input_choices() : std::vector<std::string>{},
                command.first_input_only, sub_verb_offer(command));
  for (const Subcommand& sub_verb : command.sub_verbs) out += bash_cases(sub_verb);
  return out;
}

std::string value_cases(const Subcommand& command) {
  std::string out;
  for (const Flag& flag : command.flags) out += value_case(command, flag);
  for (const Subcommand& sub_verb : command.sub_verbs) out += value_cases(sub_verb);
  return out;
}

}  // namespace

std::string bash_completions(const std::vector<Subcommand>& commands) {
  std::string out = kBashHead;
  out += "  case \"$verb ${words[next]}\" in\n";
  for (const Subcommand& command : commands) out += sub_verb_case(command);
  out += "  esac\n";
  out += kQuestion;
  std::vector<std::string> verbs;
  for (const Subcommand& command : commands) {
    verbs.push_back(command.name);
    out += value_cases(command);
  }
  out += kMiddle;
  out += verb_case("", program_flags(), verbs);
  for (const Subcommand& command : commands) out += bash_cases(command);
  return out + kBashTail;
}

}  // namespace weft::cli
