// SPDX-License-Identifier: Apache-2.0
#include "cli/arguments.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>

#include "weft/base/check.h"
#include "weft/base/size.h"
#include "weft/base/suggest.h"

namespace weft::cli {
namespace {

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
  constexpr Bytes kMost = Bytes{1} << 43;
  if (size && *size >= least && *size <= kMost) return *size;
  return fail(
      ErrorCode::kUsage,
      fmt::format("{}: '{}' is no size; write 64KiB, 512MB or 1.5GiB, 8TiB at most", flag, text));
}

std::string none_of(const std::string& word, const std::vector<std::string>& choices) {
  return fmt::format("'{}' is none of {}{}", word, fmt::join(choices, ", "),
                     did_you_mean(word, choices));
}

std::vector<Flag> common_flags() {
  return {{"--quiet",
           "",
           "no progress and no notes, only the result and errors",
           Flag::Value::kNone,
           false,
           {},
           "-q"},
          {"--no-color", "", "no colours, also on a terminal"},
          {"--help", "", "show this", Flag::Value::kNone, false, {}, "-h"}};
}

std::vector<Flag> program_flags() {
  std::vector<Flag> flags = common_flags();
  flags.insert(flags.begin(),
               {"--version", "", "tell the version", Flag::Value::kNone, false, {}, "-V"});
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
  WEFT_CHECK(parse_whole(values.back(), value));
  return value;
}

class ArgumentParser {
 public:
  explicit ArgumentParser(const Subcommand& command)
      : command_(command), flags_(flags_of(command)) {}

  Result<Arguments> parse(const std::vector<std::string>& words) {
    Arguments arguments;
    CLI::App app;
    app.set_help_flag();  // help is ours
    // Unknown flags are collected rather than refused, so that the refusal can suggest.
    app.allow_extras();
    app.add_option("inputs", arguments.inputs);
    for (const Flag& flag : flags_) {
      std::vector<std::string>& values = arguments.values_[flag.name];
      const std::string names =
          flag.short_name.empty() ? flag.name : flag.short_name + "," + flag.name;
      if (flag.value == Flag::Value::kNone) {
        app.add_flag_callback(names, [&values] { values = {"yes"}; });
      } else {
        // Without this a flag would swallow the inputs that follow its value.
        app.add_option(names, values)->allow_extra_args(false);
      }
    }
    // What follows "--" are inputs, whatever it looks like: flags of another command, say.
    const auto dashes = std::find(words.begin(), words.end(), "--");
    WEFT_TRY(refuse_values({words.begin(), dashes}));
    try {
      // CLI11 takes the words from the back.
      app.parse(std::vector<std::string>(std::reverse_iterator(dashes), words.rend()));
    } catch (const CLI::ArgumentMismatch& error) {
      const std::string what = error.what();
      return usage(what.substr(0, what.find(':')) + " needs a value");
    } catch (const CLI::ParseError& error) {
      return usage(error.what());
    }
    if (dashes != words.end()) {
      arguments.inputs.insert(arguments.inputs.end(), dashes + 1, words.end());
    }
    WEFT_TRY(refuse_extras(app.remaining()));
    WEFT_TRY(check_values(arguments));
    WEFT_TRY(check_inputs(arguments));
    return arguments;
  }

 private:
  tl::unexpected<Error> usage(const std::string& message) const {
    return fail(ErrorCode::kUsage, fmt::format("{} (see weft help {})", message, command_.name));
  }

  /// A value that would be passed over says that something else was meant: "--json=no".
  Status refuse_values(const std::vector<std::string>& words) const {
    for (const Flag& flag : flags_) {
      if (flag.value != Flag::Value::kNone) continue;
      for (const std::string& word : words) {
        if (word.starts_with(flag.name + "=")) {
          return usage(fmt::format("{} takes no value", flag.name));
        }
      }
    }
    return {};
  }

  Status refuse_extras(const std::vector<std::string>& extras) const {
    for (const std::string& extra : extras) {
      if (extra.size() < 2 || extra[0] != '-') continue;
      const std::string name = extra.substr(0, extra.find('='));
      std::vector<std::string> known;
      for (const Flag& flag : flags_) known.push_back(flag.name);
      return usage(fmt::format("no flag '{}'{}", name, did_you_mean(name, known)));
    }
    return {};
  }

  Status check_values(const Arguments& arguments) const {
    for (const Flag& flag : flags_) {
      const auto& values = arguments.values_.at(flag.name);
      if (!flag.repeatable && values.size() > 1) {
        return usage(fmt::format("{} was given {} times", flag.name, values.size()));
      }
      for (const std::string& value : values) {
        std::int64_t number = 0;
        if (flag.value == Flag::Value::kWhole && !parse_whole(value, number)) {
          return usage(fmt::format("{}: '{}' is no whole number", flag.name, value));
        }
        if (flag.value == Flag::Value::kChoice && !contains(flag.choices, value)) {
          return usage(fmt::format("{}: {}", flag.name, none_of(value, flag.choices)));
        }
      }
    }
    return {};
  }

  Status check_inputs(const Arguments& arguments) const {
    const auto count = arguments.inputs.size();
    if (count < command_.min_inputs) {
      return usage(fmt::format("{} is missing", command_.inputs));
    }
    if (count > command_.max_inputs) {
      return usage(
          fmt::format("'{}' is one argument too many", arguments.inputs[command_.max_inputs]));
    }
    if (!command_.input_choices) return {};
    const std::vector<std::string> choices = command_.input_choices();
    for (const std::string& input : arguments.inputs) {
      if (!contains(choices, input)) return usage(none_of(input, choices));
      if (command_.first_input_only) break;
    }
    return {};
  }

  const Subcommand& command_;
  const std::vector<Flag> flags_;
};

Result<Arguments> parse_arguments(const Subcommand& command,
                                  const std::vector<std::string>& words) {
  return ArgumentParser(command).parse(words);
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
