// SPDX-License-Identifier: Apache-2.0
// `weft VERB ...`: finds the verb, runs it, and turns its outcome into output and an exit code.
//
// The order at the end of main_guarded() matters: errors go to stderr first, then the result to
// stdout, then notes to stderr. So on a terminal the notes are below the result, and a partial
// result of an interrupted verb is still written.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/shell/interrupt.h"
#include "cli/shell/terminal.h"
#include "cli/subcommand.h"
#include "weft/base/suggest.h"

namespace weft::cli {
namespace {

/// Writes all of `text` to stdout. A reader that closes the pipe early (`weft info | head`) is no
/// error: it has read all that it wanted.
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
  const std::string gap = text.empty() ? "" : " ";
  write_error(paint(console.err, tone, "weft: " + label) + gap + text + "\n");
}

/// If the caller closed stdin, stdout or stderr, the next file that Weft opens would get the number
/// of the closed stream, and output could be written into this file. So this function opens
/// /dev/null in place of each closed stream. /dev/null is opened for reading only: then writing a
/// result to it fails, and Weft reports that the result is lost.
void keep_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) < 0) {
      [[maybe_unused]] const int lowest_free = ::open("/dev/null", O_RDONLY);
    }
  }
}

/// The error for a word that is neither a verb nor a flag. It suggests the most similar name.
tl::unexpected<Error> refuse(const std::string& word) {
  const bool flag = word.starts_with('-');
  std::vector<std::string> known = verb_names();
  if (flag) {
    known.clear();
    for (const Flag& common : program_flags()) known.push_back(common.name);
  }
  return fail(ErrorCode::kUsage,
              fmt::format("there is no {} '{}'{} (weft help lists the verbs)",
                          flag ? "flag" : "verb", word, did_you_mean(word, known)));
}

Result<ExitCode> run(std::vector<std::string> words, Console& console) {
  // Common flags may also stand before the verb: move the verb to the front.
  const auto verb_at = std::find_if(words.begin(), words.end(), [](const std::string& word) {
    return common_flag_of(word).empty();
  });
  if (verb_at == words.end()) {
    words = {"help"};  // `weft` alone and `weft --help` list the verbs
  } else {
    std::rotate(words.begin(), verb_at, verb_at + 1);
  }
  std::string verb = words.front();
  words.erase(words.begin());
  if (verb == "--version" || verb == "-V") {
    console.result = "weft " WEFT_VERSION "\n";
    return ExitCode::kDone;
  }
  const std::vector<Subcommand> commands = all_commands();
  // `weft VERB [SUB-VERB] --help` becomes `weft help VERB [SUB-VERB]`, before anything is parsed,
  // so that help also answers a command line that is otherwise wrong.
  if (mentions(words, "--help")) {
    const Subcommand* explained = find_verb(commands, verb);
    const Subcommand* sub_verb = explained ? &named_sub_verb(*explained, words) : nullptr;
    words = {std::exchange(verb, "help")};
    if (sub_verb != explained) words.push_back(sub_verb->own_name());
  }
  const Subcommand* command = find_verb(commands, verb);
  if (command == nullptr) return refuse(verb);
  WEFT_ASSIGN(const Invocation invocation, parse_command_line(*command, words));
  Result<ExitCode> code = invocation.command->run(invocation.arguments, console);
  if (console.file) {
    console.notes.insert(0, console.result);
    console.result = *std::move(console.file);
  }
  return code;
}

/// Ends an interrupted verb. A verb that returns kInterrupted has a partial result on purpose, and
/// this result is kept. If the signal came just before a verb was done, its result is dropped:
/// the exit status says "interrupted", so nobody may take the result for complete.
ExitCode settle_interrupt(ExitCode code, Console& console) {
  if (code == ExitCode::kDone) console.result.clear();
  say(console, Tone::kWarning, "interrupted", "");
  return interrupt_code();
}

int main_guarded(int argc, char** argv) {
  Console console{detect_terminal(STDOUT_FILENO), detect_terminal(STDERR_FILENO), {}, {}, {}};
  install_signal_handlers(console.err);
  keep_standard_streams();
  const std::vector<std::string> words(argv + 1, argv + argc);
  const bool quiet = mentions(words, "--quiet");
  if (quiet) console.err.is_terminal = false;  // progress lines need a terminal
  if (mentions(words, "--no-color")) console.out.colour = console.err.colour = false;
  ExitCode code = ExitCode::kInternal;
  try {
    const auto outcome = run(words, console);
    code = outcome ? *outcome : exit_code_of(outcome.error().code);
    if (interrupted()) {
      code = settle_interrupt(code, console);
    } else if (!outcome) {
      say(console, Tone::kBad, "error:", outcome.error().text());
    }
  } catch (const std::bad_alloc&) {
    code = ExitCode::kUnavailable;
    say(console, Tone::kBad, "error:", "not enough memory for this input");
  } catch (const std::exception& error) {
    say(console, Tone::kBad, "internal error:",
        fmt::format("{}; this is a bug in Weft, please report it with the command", error.what()));
  }
  if (const Status written = write_out(console.result); !written) {
    say(console, Tone::kBad, "error:", written.error().text());
    if (code == ExitCode::kDone) code = exit_code_of(written.error().code);
  }
  if (!quiet) write_error(console.notes);
  return static_cast<int>(code);
}

}  // namespace
}  // namespace weft::cli

int main(int argc, char** argv) { return weft::cli::main_guarded(argc, argv); }
