// SPDX-License-Identifier: Apache-2.0
// Defines the type of verbs and sub-verbs. A verb is one object: its help, its flags, and the
// function that runs it. Each verb has one file with one function that returns the object;
// commands.h lists these functions. A verb may have sub-verbs (`weft pipeline compare`), which are
// objects of the same type. The parser, help, man pages and shell completions use only these
// objects.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/exit_codes.h"
#include "cli/shell/terminal.h"
#include "weft/base/result.h"

namespace weft::cli {

struct Flag {
  /// kNone: a switch. kWhole: an integer of at least 0. kFile, kFolder: a path. kChoice: one of
  /// `choices`.
  enum class Value { kNone, kText, kWhole, kFile, kFolder, kChoice };

  std::string name;        ///< "--run"
  std::string value_name;  ///< "N"; empty for a switch
  std::string help;        ///< one line
  Value value = Value::kNone;
  bool repeatable = false;
  /// kChoice: the accepted values. kText: values that shells offer; others are accepted, too.
  std::vector<std::string> choices = {};
  std::string short_name = {};  ///< "-q"; empty: none
};

struct Example {
  std::string command;  ///< a complete command line to copy
  std::string what;     ///< one line
};

/// The parsed words that follow a verb. Asking for a flag that the verb does not declare is a bug
/// of Weft and throws std::out_of_range.
class Arguments {
 public:
  std::vector<std::string> inputs;

  bool has(const std::string& flag) const { return !values_.at(flag).empty(); }
  const std::vector<std::string>& all(const std::string& flag) const { return values_.at(flag); }
  std::optional<std::int64_t> whole(const std::string& flag) const;

 private:
  friend class ArgumentParser;
  std::map<std::string, std::vector<std::string>> values_;  ///< values of every declared flag
};

/// What a verb gets to talk to the user: the terminals, and the places for its result and notes.
struct Console {
  Terminal out;        ///< of stdout
  Terminal err;        ///< of stderr
  std::string result;  ///< written to stdout when the verb is done, also if it was interrupted
  std::string notes;   ///< written to stderr after the result, unless --quiet
  /// A file that the user wants on stdout; see write_output(). Then `result` goes to stderr.
  std::optional<std::string> file = {};
};

/// As the name of an output file, this means stdout.
constexpr const char* kStandardOutput = "-";

struct Subcommand {
  std::string name;         ///< "replay"; a sub-verb is named with its verb: "pipeline compare"
  std::string description;  ///< one line
  std::string inputs;       ///< the inputs as the usage line shows them: "INPUT..."
  std::size_t min_inputs = 0;
  std::size_t max_inputs = SIZE_MAX;
  /// Returns the accepted inputs. If there is no function, inputs are files and folders. This is a
  /// function because some verbs accept the names of all verbs.
  std::function<std::vector<std::string>()> input_choices;
  bool first_input_only = false;  ///< input_choices applies only to the first input
  /// For the verb's own help. Lines are joined and broken again to fit, except those that start
  /// with a blank; an empty line separates paragraphs.
  std::string details;
  std::array<Example, 2> examples;
  std::vector<Flag> flags;  ///< without common_flags(), which every verb also takes
  /// Flags that users may expect although the verb does not take them. Each has an error message,
  /// which says what to write instead.
  std::vector<std::pair<std::string, std::string>> refused_flags;
  /// Optional. Runs before the inputs are counted, so that it can explain a mistake better than
  /// "one argument too many" does.
  std::function<Status(const Arguments&)> check;
  std::function<Result<ExitCode>(const Arguments&, Console&)> run;

  /// The first input may be the name of one of these sub-verbs. Then the sub-verb's own `inputs`,
  /// `flags` and `run` apply to the words after the name. The members of this verb apply only if no
  /// sub-verb is named.
  std::vector<Subcommand> sub_verbs;
  /// With sub_verbs: a word for what the verb does if no sub-verb is named, such as "planning".
  std::string bare_name;

  /// The last word of the name: "compare" of "pipeline compare".
  std::string own_name() const { return name.substr(name.rfind(' ') + 1); }
};

/// The flags that every verb takes: --quiet, --no-color, --help.
std::vector<Flag> common_flags();
/// The flags that `weft` takes without a verb: --version, then the common flags.
std::vector<Flag> program_flags();
/// The flags of the verb or sub-verb, then the common flags.
std::vector<Flag> flags_of(const Subcommand& command);

/// The sub-verb of `verb` that is called `own_name`; nullptr if there is none.
const Subcommand* find_sub_verb(const Subcommand& verb, const std::string& own_name);
/// The sub-verb that is named by one of the words before any "--": the first word that is the name
/// of a sub-verb counts. `verb` itself if there is no such word.
const Subcommand& named_sub_verb(const Subcommand& verb, const std::vector<std::string>& words);

}  // namespace weft::cli
