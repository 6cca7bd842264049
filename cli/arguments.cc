// SPDX-License-Identifier: Apache-2.0
#include "cli/arguments.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>

#include "cli/suggest.h"
#include "weft/base/check.h"

namespace weft::cli {
namespace {

bool parse_whole(const std::string& text, std::int64_t& value) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc{} && stop == end && value >= 0;
}

std::string spelled(const Flag& flag) {
  return flag.value_name.empty() ? flag.name : flag.name + " " + flag.value_name;
}

}  // namespace

std::optional<std::int64_t> Arguments::whole(const std::string& flag) const {
  const auto& values = values_.at(flag);
  if (values.empty()) return std::nullopt;
  std::int64_t value = 0;
  WEFT_CHECK(parse_whole(values.back(), value));
  return value;
}

class ArgumentParser {
 public:
  explicit ArgumentParser(const Subcommand& command) : command_(command) {}

  Result<Arguments> parse(const std::vector<std::string>& words) {
    Arguments arguments;
    CLI::App app;
    app.set_help_flag();  // help is ours
    // Unknown flags are collected rather than refused, so that the refusal can suggest.
    app.allow_extras();
    app.add_option("inputs", arguments.inputs);
    for (const Flag& flag : command_.flags) {
      std::vector<std::string>& values = arguments.values_[flag.name];
      if (flag.value == Flag::Value::kNone) {
        app.add_flag_callback(flag.name, [&values] { values = {"yes"}; });
      } else {
        // Without this a flag would swallow the inputs that follow its value.
        app.add_option(flag.name, values)->allow_extra_args(false);
      }
    }
    try {
      // CLI11 takes the words from the back.
      app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
    } catch (const CLI::ParseError& error) {
      return usage(error.what());
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

  Status refuse_extras(const std::vector<std::string>& extras) const {
    for (const std::string& extra : extras) {
      if (extra.size() < 2 || extra[0] != '-') continue;
      const std::string name = extra.substr(0, extra.find('='));
      std::vector<std::string> known{"--help"};
      for (const Flag& flag : command_.flags) known.push_back(flag.name);
      return usage(fmt::format("no flag '{}'{}", name, did_you_mean(name, known)));
    }
    return {};
  }

  Status check_values(const Arguments& arguments) const {
    for (const Flag& flag : command_.flags) {
      const auto& values = arguments.values_.at(flag.name);
      if (!flag.repeatable && values.size() > 1) {
        return usage(fmt::format("{} was given {} times", flag.name, values.size()));
      }
      for (const std::string& value : values) {
        std::int64_t number = 0;
        if (flag.value == Flag::Value::kWhole && !parse_whole(value, number)) {
          return usage(fmt::format("{}: '{}' is no whole number", flag.name, value));
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
    return {};
  }

  const Subcommand& command_;
};

Result<Arguments> parse_arguments(const Subcommand& command,
                                  const std::vector<std::string>& words) {
  return ArgumentParser(command).parse(words);
}

std::string verb_help(const Subcommand& command, const Terminal& terminal) {
  std::string out = fmt::format("weft {}: {}\n\n", command.name, command.description);
  for (const Example& example : command.examples) {
    out += fmt::format("  {}\n      {}\n", paint(terminal, Tone::kBold, example.command),
                       example.what);
  }
  out += fmt::format("\nusage: weft {} {}{}\n", command.name, command.inputs,
                     command.flags.empty() ? "" : " [FLAG]...");
  if (!command.details.empty()) out += "\n" + command.details + "\n";
  std::size_t width = 6;
  for (const Flag& flag : command.flags) width = std::max(width, spelled(flag).size());
  out += "\nflags\n";
  for (const Flag& flag : command.flags) {
    out += fmt::format("  {:<{}}  {}{}\n", spelled(flag), width, flag.help,
                       flag.repeatable ? " (repeatable)" : "");
  }
  out += fmt::format("  {:<{}}  show this\n", "--help", width);
  return out;
}

std::string overview(const std::vector<Subcommand>& commands, const Terminal& terminal) {
  std::string out =
      "weft: see how a distributed training job spends its step, and predict what a change does\n\n"
      "usage: weft VERB INPUT... [FLAG]...\n\n";
  std::size_t width = 4;
  for (const Subcommand& command : commands) width = std::max(width, command.name.size());
  for (const Subcommand& command : commands) {
    const std::string padded = fmt::format("{:<{}}", command.name, width);
    out += fmt::format("  {}  {}\n", paint(terminal, Tone::kBold, padded), command.description);
  }
  out += fmt::format("  {}  help of one verb, with examples\n",
                     paint(terminal, Tone::kBold, fmt::format("{:<{}}", "help", width)));
  out += "\nweft --version tells the version; weft VERB --help the flags of a verb.\n";
  return out;
}

}  // namespace weft::cli
