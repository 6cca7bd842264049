// SPDX-License-Identifier: Apache-2.0
#include "cli/arguments.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <filesystem>

#include "cli/shell/format.h"
#include "weft/base/check.h"
#include "weft/base/size.h"
#include "weft/base/suggest.h"

namespace weft::cli {
namespace {

/// More threads than this are taken for a mistake.
constexpr std::int64_t kMostThreads = 4096;

/// Parses an integer of at least 0, without sign and blanks. Returns false for any other text.
bool parse_whole(const std::string& text, std::int64_t& value) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc{} && stop == end && value >= 0;
}

bool contains(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace

Result<Bytes> size_flag(const Arguments& arguments, const char* flag, Bytes least) {
  if (!arguments.has(flag)) return Bytes{0};
  const std::string& text = arguments.all(flag).back();
  const auto size = parse_bytes(text);
  // The limit is 8 TiB, so that sums of a few sizes stay far below 2^63.
  constexpr Bytes kMost = Bytes{1} << 43;
  if (size && *size >= least && *size <= kMost) return *size;
  const std::string hint = unit_hint(text);
  return fail(ErrorCode::kUsage,
              fmt::format("{}: '{}' is not a size; {}", flag, text,
                          hint.empty() ? "write 64KiB, 512MB or 1.5GiB, at most 8TiB" : hint));
}

std::string none_of(const std::string& word, const std::vector<std::string>& choices) {
  return fmt::format("'{}' is not one of {}{}", word, fmt::join(choices, ", "),
                     did_you_mean(word, choices));
}

std::vector<Flag> common_flags() {
  return {{"--quiet",
           "",
           "print only the result and errors: no progress, no notes",
           Flag::Value::kNone,
           false,
           {},
           "-q"},
          {"--no-color", "", "print no colours, not even on a terminal"},
          {"--help", "", "show this help", Flag::Value::kNone, false, {}, "-h"}};
}

std::vector<Flag> program_flags() {
  std::vector<Flag> flags = common_flags();
  flags.insert(flags.begin(),
               {"--version", "", "show the version", Flag::Value::kNone, false, {}, "-V"});
  return flags;
}

std::vector<Flag> flags_of(const Subcommand& command) {
  std::vector<Flag> flags = command.flags;
  for (Flag& flag : common_flags()) flags.push_back(std::move(flag));
  return flags;
}

std::optional<std::int64_t> Arguments::whole(const std::string& flag) const {
  const auto& values = values_.at(flag);
  if (values.empty()) return std::nullopt;
  std::int64_t value = 0;
  WEFT_CHECK(parse_whole(values.back(), value));  // the parser has refused all other texts
  return value;
}

const Subcommand* find_sub_verb(const Subcommand& verb, const std::string& own_name) {
  for (const Subcommand& sub_verb : verb.sub_verbs) {
    if (sub_verb.own_name() == own_name) return &sub_verb;
  }
  return nullptr;
}

const Subcommand& named_sub_verb(const Subcommand& verb, const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (word == "--") break;
    if (const Subcommand* found = find_sub_verb(verb, word)) return *found;
  }
  return verb;
}

/// In CLI11, the verb is an app, and every sub-verb is a subcommand of this app with separate
/// options. CLI11 decides which words belong to the verb and which to the sub-verb. This class then
/// checks everything else (unknown flags, values, counts) itself, because CLI11's messages do not
/// suggest what the user may have meant.
class ArgumentParser {
 public:
  explicit ArgumentParser(const Subcommand& verb) : verb_(verb), chosen_(&verb) {}

  Result<Invocation> parse(const std::vector<std::string>& words) {
    // Words after "--" are inputs even if they look like flags: they may be another command line.
    const auto dashes = std::find(words.begin(), words.end(), "--");
    // A guess for error messages, until CLI11 has decided which sub-verb is meant.
    chosen_ = &named_sub_verb(verb_, words);
    WEFT_TRY(refuse_values({words.begin(), dashes}));
    Parsed own;
    declare(verb_, app_, own);
    // At most one sub-verb can be chosen. After it, the name of another sub-verb is an input.
    app_.require_subcommand(0, 1);
    std::map<const CLI::App*, Parsed> of_sub_verb;
    for (const Subcommand& sub_verb : verb_.sub_verbs) {
      CLI::App* app = app_.add_subcommand(sub_verb.own_name());
      declare(sub_verb, *app, of_sub_verb[app]);
    }
    try {
      // CLI11 takes the first word from the end of the list, so pass the words in reverse order.
      app_.parse(std::vector<std::string>(std::reverse_iterator(dashes), words.rend()));
    } catch (const CLI::ArgumentMismatch& error) {
      const std::string what = error.what();
      return usage(what.substr(0, what.find(':')) + " needs a value");
    } catch (const CLI::ParseError& error) {
      return usage(error.what());
    }
    const std::vector<CLI::App*> parsed = app_.get_subcommands();
    if (parsed.empty()) {
      chosen_ = &verb_;
      return checked(std::move(own), app_, {dashes, words.end()});
    }
    Parsed& taken = of_sub_verb.at(parsed.front());
    chosen_ = taken.command;
    WEFT_TRY(take_over(own, taken.arguments));
    return checked(std::move(taken), *parsed.front(), {dashes, words.end()});
  }

 private:
  struct Parsed {
    const Subcommand* command = nullptr;
    Arguments arguments;
  };

  /// CLI11 writes into `parsed`, which must therefore stay where it is.
  static void declare(const Subcommand& command, CLI::App& app, Parsed& parsed) {
    parsed.command = &command;
    app.set_help_flag();  // not by CLI11: cli/shell/help.cc prints help
    // CLI11 only collects unknown flags. refuse_flag() then refuses them and suggests a name.
    app.allow_extras();
    app.add_option("inputs", parsed.arguments.inputs);
    for (const Flag& flag : flags_of(command)) {
      std::vector<std::string>& values = parsed.arguments.values_[flag.name];
      const std::string names =
          flag.short_name.empty() ? flag.name : flag.short_name + "," + flag.name;
      if (flag.value == Flag::Value::kNone) {
        app.add_flag_callback(names, [&values] { values = {"yes"}; });
      } else {
        // Each flag takes one value. By default, CLI11 would also take the inputs that follow.
        app.add_option(names, values)->allow_extra_args(false);
      }
    }
  }

  tl::unexpected<Error> usage(const std::string& message) const {
    return fail(ErrorCode::kUsage, fmt::format("{} (see weft help {})", message, chosen_->name));
  }

  /// The name that messages use for what the user asked for. For a sub-verb it is the name of the
  /// sub-verb: "compare". For the verb itself it is Subcommand::bare_name: "planning", or empty if
  /// the verb has no sub-verbs.
  std::string asked() const { return chosen_ == &verb_ ? verb_.bare_name : chosen_->own_name(); }

  /// Refuses a switch with a value, such as "--json=no". CLI11 would ignore the value, although the
  /// user meant something by it.
  Status refuse_values(const std::vector<std::string>& words) const {
    std::vector<Flag> flags = flags_of(verb_);
    for (const Subcommand& sub_verb : verb_.sub_verbs) {
      flags.insert(flags.end(), sub_verb.flags.begin(), sub_verb.flags.end());
    }
    for (const Flag& flag : flags) {
      if (flag.value != Flag::Value::kNone) continue;
      for (const std::string& word : words) {
        if (word.starts_with(flag.name + "=")) {
          return usage(fmt::format("{} takes no value", flag.name));
        }
      }
    }
    return {};
  }

  /// Gives the sub-verb the flags that stand before its name, as in `weft pipeline --json compare`.
  /// Fails if the sub-verb does not take one of these flags, or if other words stand there.
  Status take_over(const Parsed& before, Arguments& arguments) const {
    for (const std::string& extra : app_.remaining()) {
      if (extra.size() < 2 || extra[0] != '-') continue;
      const std::string name = extra.substr(0, extra.find('='));
      if (arguments.values_.contains(name)) {
        return usage(fmt::format("{} must follow {}", name, asked()));
      }
      return refuse_flag(name);
    }
    if (!before.arguments.inputs.empty()) {
      return usage(fmt::format("'{}' must follow {}", before.arguments.inputs.front(), asked()));
    }
    for (const auto& [name, values] : before.arguments.values_) {
      if (values.empty()) continue;
      const auto found = arguments.values_.find(name);
      if (found == arguments.values_.end()) return refuse_flag(name);
      const bool is_switch = !found->second.empty() && is_switch_of(*chosen_, name);
      if (!is_switch) found->second.insert(found->second.begin(), values.begin(), values.end());
    }
    return {};
  }

  static bool is_switch_of(const Subcommand& command, const std::string& name) {
    for (const Flag& flag : flags_of(command)) {
      if (flag.name == name) return flag.value == Flag::Value::kNone;
    }
    return false;
  }

  /// Makes the last checks: first the names of flags, then their values, then the inputs. If a flag
  /// is mistyped, its value looks like an extra input, and a message about inputs would mislead. So
  /// the flags are checked first. `rest` has "--" and the words after it, or is empty.
  Result<Invocation> checked(Parsed parsed, const CLI::App& app,
                             const std::vector<std::string>& rest) const {
    Arguments& arguments = parsed.arguments;
    if (!rest.empty()) {
      arguments.inputs.insert(arguments.inputs.end(), rest.begin() + 1, rest.end());
    }
    for (const std::string& extra : app.remaining()) {
      if (extra.size() < 2 || extra[0] != '-') continue;
      return refuse_flag(extra.substr(0, extra.find('=')));
    }
    WEFT_TRY(check_values(arguments));
    if (chosen_->check) WEFT_TRY(chosen_->check(arguments));
    WEFT_TRY(check_inputs(arguments));
    return Invocation{parsed.command, std::move(arguments)};
  }

  /// The error for a flag that `chosen_` does not take. If the verb declares a sentence for this
  /// flag (Subcommand::refused_flags), the message is that sentence. Otherwise, if sub-verbs take
  /// the flag, the message names these sub-verbs. Otherwise it suggests the most similar flag.
  tl::unexpected<Error> refuse_flag(const std::string& name) const {
    for (const auto& [refused, why] : chosen_->refused_flags) {
      if (refused == name) return fail(ErrorCode::kUsage, why);
    }
    std::vector<std::string> takers;
    const auto add_taker = [&](const Subcommand& command, const std::string& called) {
      for (const Flag& flag : command.flags) {
        if (flag.name == name) takers.push_back(called);
      }
    };
    if (!verb_.sub_verbs.empty()) add_taker(verb_, verb_.bare_name);
    for (const Subcommand& sub_verb : verb_.sub_verbs) add_taker(sub_verb, sub_verb.own_name());
    if (!takers.empty()) {
      return usage(fmt::format("{} does not go with {}; it is a flag of {}", name, asked(),
                               fmt::join(takers, ", ")));
    }
    std::vector<std::string> known;
    for (const Flag& flag : flags_of(*chosen_)) known.push_back(flag.name);
    return usage(fmt::format("there is no flag '{}'{}", name, did_you_mean(name, known)));
  }

  Status check_values(const Arguments& arguments) const {
    const std::string whose = asked().empty() ? "" : " of " + asked();
    for (const Flag& flag : flags_of(*chosen_)) {
      const auto& values = arguments.values_.at(flag.name);
      if (!flag.repeatable && values.size() > 1) {
        return usage(fmt::format("{} was given {} times", flag.name, values.size()));
      }
      for (const std::string& value : values) {
        std::int64_t number = 0;
        if (flag.value == Flag::Value::kWhole && !parse_whole(value, number)) {
          return usage(fmt::format("{}: '{}' is not a whole number", flag.name, value));
        }
        if (flag.name == "--threads" && number > kMostThreads) {
          return usage(fmt::format("--threads: {} is more than {}", value, kMostThreads));
        }
        if (flag.value == Flag::Value::kChoice && !contains(flag.choices, value)) {
          // Sub-verbs may accept different values for flags of the same name.
          return usage(fmt::format("{}{}: {}", flag.name, whose, none_of(value, flag.choices)));
        }
      }
    }
    return {};
  }

  Status check_inputs(const Arguments& arguments) const {
    const auto count = arguments.inputs.size();
    if (count < chosen_->min_inputs) {
      return usage(fmt::format("{} is missing", chosen_->inputs));
    }
    if (count > 0) WEFT_TRY(refuse_mistyped_sub_verb(arguments.inputs.front()));
    if (count > chosen_->max_inputs) {
      return usage(
          fmt::format("'{}' is one argument too many", arguments.inputs[chosen_->max_inputs]));
    }
    if (!chosen_->input_choices) return {};
    const std::vector<std::string> choices = chosen_->input_choices();
    for (const std::string& input : arguments.inputs) {
      if (!contains(choices, input)) return usage(none_of(input, choices));
      if (chosen_->first_input_only) break;
    }
    return {};
  }

  /// Without this check a mistyped sub-verb would be taken for the name of a file.
  Status refuse_mistyped_sub_verb(const std::string& word) const {
    if (chosen_ != &verb_) return {};
    std::vector<std::string> names;
    for (const Subcommand& sub_verb : verb_.sub_verbs) names.push_back(sub_verb.own_name());
    const std::string meant = did_you_mean(word, names);
    std::error_code ignored;
    if (meant.empty() || std::filesystem::exists(word, ignored)) return {};
    return usage(fmt::format("there is no file '{}'{}", word, meant));
  }

  const Subcommand& verb_;
  const Subcommand* chosen_;
  CLI::App app_;
};

Result<Invocation> parse_command_line(const Subcommand& verb,
                                      const std::vector<std::string>& words) {
  return ArgumentParser(verb).parse(words);
}

bool mentions(const std::vector<std::string>& words, const std::string& common_flag) {
  const auto end = std::find(words.begin(), words.end(), "--");
  return std::any_of(words.begin(), end,
                     [&](const std::string& word) { return common_flag_of(word) == common_flag; });
}

std::string common_flag_of(const std::string& word) {
  for (const Flag& flag : common_flags()) {
    if (word == flag.name || (!word.empty() && word == flag.short_name)) return flag.name;
  }
  return "";
}

}  // namespace weft::cli
