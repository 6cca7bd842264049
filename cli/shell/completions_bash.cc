// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "cli/shell/completions.h"

namespace weft::cli {
namespace {

// bash splits words at = and : (COMP_WORDBREAKS), and so would tear KEY=VALUE and rank:2.compute
// apart. The line is therefore split again here, and from what is offered the part is taken away
// that bash holds for finished.
constexpr const char* kBashHead =
    R"(# Completion of weft for bash, written by: weft completions bash
_weft() {
  local line=${COMP_LINE:0:COMP_POINT} verb="" prefix="" index
  local -a words offer=() flags=()
  read -ra words <<<"$line"
  [[ $line == *[[:space:]] ]] && words+=("")
  local last=$((${#words[@]} - 1))
  local word=${words[last]} flag=${words[last - 1]}
  [[ $word == --*=* ]] && flag=${word%%=*} prefix=${word%%=*}=
  for ((index = 1; index < last; ++index)); do
    [[ ${words[index]} == -* ]] || { verb=${words[index]}; break; }
  done
  local first=$((index + 1 == last))
  COMPREPLY=()
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

/// What follows a flag that takes a value. Where the case just returns, readline offers files.
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

std::string verb_case(const std::string& verb, const std::vector<Flag>& flags,
                      const std::vector<std::string>& inputs, bool first_input_only = false) {
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
  return fmt::format("        '{}') {} ;;\n", verb, actions);
}

}  // namespace

std::string bash_completions(const std::vector<Subcommand>& commands) {
  std::string out = kBashHead;
  std::vector<std::string> verbs;
  for (const Subcommand& command : commands) {
    verbs.push_back(command.name);
    for (const Flag& flag : command.flags) out += value_case(command, flag);
  }
  out += kMiddle;
  out += verb_case("", program_flags(), verbs);
  for (const Subcommand& command : commands) {
    out += verb_case(command.name, flags_of(command),
                     command.input_choices ? command.input_choices() : std::vector<std::string>{},
                     command.first_input_only);
  }
  return out + kBashTail;
}

}  // namespace weft::cli
