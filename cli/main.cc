// SPDX-License-Identifier: Apache-2.0
// `weft VERB ...`: finds the verb, runs it, turns what came of it into output and an exit code.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <string>
#include <vector>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/interrupt.h"
#include "cli/subcommand.h"
#include "cli/suggest.h"
#include "cli/terminal.h"
#include "weft/base/check.h"

namespace weft::cli {
namespace {

/// Whether everything went out. A reader that closed its end early has seen what it wanted.
Status write_out(const std::string& text) {
  const char* at = text.data();
  std::size_t left = text.size();
  while (left > 0) {
    const ssize_t written = ::write(STDOUT_FILENO, at, left);
    if (written >= 0) {
      at += written;
      left -= static_cast<std::size_t>(written);
    } else if (errno == EPIPE) {
      return {};
    } else if (errno != EINTR) {
      return fail(ErrorCode::kIo, fmt::format("cannot write the result: {}", std::strerror(errno)));
    }
  }
  return {};
}

void write_error(const std::string& text) {
  // Nothing sensible is left to do if stderr cannot be written.
  [[maybe_unused]] const ssize_t ignored = ::write(STDERR_FILENO, text.data(), text.size());
}

void say(const Console& console, Tone tone, const std::string& label, const std::string& text) {
  write_error(fmt::format("{} {}\n", paint(console.err, tone, "weft: " + label), text));
}

Result<ExitCode> show_help(const std::vector<Subcommand>& commands,
                           const std::vector<std::string>& words, Console& console) {
  if (words.empty()) {
    console.result = overview(commands, console.out);
    return ExitCode::kDone;
  }
  std::vector<std::string> names;
  for (const Subcommand& command : commands) {
    if (command.name == words[0]) {
      console.result = verb_help(command, console.out);
      return ExitCode::kDone;
    }
    names.push_back(command.name);
  }
  return fail(ErrorCode::kUsage, fmt::format("no verb '{}'{} (weft help lists them)", words[0],
                                             did_you_mean(words[0], names)));
}

bool asks_for_help(const std::vector<std::string>& words) {
  const auto end = std::find(words.begin(), words.end(), "--");
  return std::any_of(words.begin(), end,
                     [](const std::string& word) { return word == "--help" || word == "-h"; });
}

Result<ExitCode> run(std::vector<std::string> words, Console& console) {
  const std::vector<Subcommand> commands = all_commands();
  if (words.empty()) {
    return fail(ErrorCode::kUsage, "a verb is missing (weft help lists them)");
  }
  const std::string verb = words.front();
  words.erase(words.begin());
  if (verb == "--version" || verb == "-V") {
    console.result = "weft " WEFT_VERSION "\n";
    return ExitCode::kDone;
  }
  if (verb == "help" || verb == "--help" || verb == "-h")
    return show_help(commands, words, console);
  for (const Subcommand& command : commands) {
    if (command.name != verb) continue;
    if (asks_for_help(words)) return show_help(commands, {verb}, console);
    WEFT_ASSIGN(const Arguments arguments, parse_arguments(command, words));
    return command.run(arguments, console);
  }
  return show_help(commands, {verb}, console);  // which refuses it with a suggestion
}

int main_guarded(int argc, char** argv) {
  install_signal_handlers();
  Console console{detect_terminal(STDOUT_FILENO), detect_terminal(STDERR_FILENO), {}, {}};
  ExitCode code = ExitCode::kInternal;
  try {
    const auto outcome = run({argv + 1, argv + argc}, console);
    if (outcome) {
      code = *outcome;
    } else if (outcome.error().code == ErrorCode::kCancelled) {
      code = ExitCode::kInterrupted;
      say(console, Tone::kWarning, "interrupted:", outcome.error().text());
    } else {
      code = exit_code_of(outcome.error().code);
      say(console, Tone::kBad, "error:", outcome.error().text());
    }
  } catch (const std::bad_alloc&) {
    code = ExitCode::kUnavailable;
    say(console, Tone::kBad, "error:", "not enough memory for this input");
  } catch (const std::exception& error) {
    say(console, Tone::kBad, "internal error:",
        fmt::format("{}; this is a bug of Weft, please report it with the command", error.what()));
  }
  if (const Status written = write_out(console.result); !written) {
    say(console, Tone::kBad, "error:", written.error().text());
    if (code == ExitCode::kDone) code = exit_code_of(written.error().code);
  }
  write_error(console.notes);
  return static_cast<int>(code);
}

}  // namespace
}  // namespace weft::cli

int main(int argc, char** argv) { return weft::cli::main_guarded(argc, argv); }
